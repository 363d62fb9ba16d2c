package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/testproxy"
)

// TestLostAnswersAreNotDoubled: clients send again by themselves what is answered with
// Retry-After. Where that would do something else, an unknown outcome is answered without:
// of a creation by generateName there is one object, and what a JSON Patch appends is there
// once.
func TestLostAnswersAreNotDoubled(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	e.createSettled(t, newInfra("patched", "x"))
	lost := func(again bool, r request) {
		t.Helper()
		e.proxy.Set(testproxy.Fault{Kind: testproxy.LostAnswer}, "com.atproto.repo.putRecord")
		a := e.do(t, r)
		e.proxy.Clear()
		if a.status != http.StatusGatewayTimeout || (a.header.Get("Retry-After") != "") != again || (a.failure.Details != nil && a.failure.Details.RetryAfterSeconds > 0) != again {
			t.Errorf("%s %s: %d %v %s", r.method, r.path, a.status, a.header, a.body)
		}
	}
	lost(true, request{method: http.MethodPost, path: infras, body: manifest("named", "x")})
	generated := manifest("", "x")
	generated["metadata"] = record{"generateName": "raw-"}
	lost(false, request{method: http.MethodPost, path: infras, body: generated})
	lost(false, request{
		method: http.MethodPatch, path: infras + "/patched", kind: string(types.JSONPatchType) + "; charset=utf-8",
		body: `[{"op":"add","path":"/spec/contracts/-","value":{"name":"appended"}}]`,
	})

	e.proxy.Set(testproxy.Fault{Kind: testproxy.LostAnswer}, "com.atproto.repo.putRecord")
	obj := newInfra("", "x")
	obj.GenerateName = "typed-"
	if _, err := e.client.Infras().Create(t.Context(), obj, metav1.CreateOptions{}); !apierrors.IsTimeout(err) {
		t.Errorf("a creation whose answer is lost: %v", err)
	}
	e.proxy.Clear()
	e.settled(t)
	var prefixes []string
	for name := range maps.Keys(e.account.records(t)) {
		prefix, _, _ := strings.Cut(name, "-")
		prefixes = append(prefixes, prefix)
	}
	if slices.Sort(prefixes); !slices.Equal(prefixes, []string{"named", "patched", "raw", "typed"}) {
		t.Errorf("records of %q", prefixes)
	}
	if c := e.infra(t, "patched").Spec.Contracts; len(c) != 2 {
		t.Errorf("contracts %+v", c)
	}
	if err := e.agree(t); err != nil {
		t.Error(err)
	}
}
