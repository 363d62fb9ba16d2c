package apiserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/component-base/metrics/legacyregistry"

	"socialweb.computer/infra-apiserver/internal/metrics"
	"socialweb.computer/infra-apiserver/internal/usage"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// TestRehearsal: a dry run is refused as the write would be, and is not counted, not as a
// refusal either.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	s, inner, _ := slowly(t, usage.Limits{Bytes: 2000})
	infra := func(version, description string) *socialweb.Infra {
		return &socialweb.Infra{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version}, Spec: socialweb.InfraSpec{Description: description}}
	}
	small, large := "x", strings.Repeat("x", 3000)
	ws := "rehearses-" + rand.String(5) // metrics outlive a run of the test
	try := func(ctx context.Context, name string, obj, old *socialweb.Infra, refused bool) {
		t.Helper()
		var was runtime.Object
		if old != nil {
			was = old
		}
		if err := s.Rehearse(ctx, "/infras/"+ws+"/a", obj, was); apierrors.IsForbidden(err) != refused || err != nil && !refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range 5 { // together they would be too much
		try(ofRequest(t, ws, "alice", "create", ""), "a creation", infra("", strings.Repeat("x", 1000)), nil, false)
	}
	try(ofRequest(t, ws, "alice", "create", ""), "a creation that is too large", infra("", large), nil, true)
	try(ofRequest(t, ws, "alice", "update", ""), "an update that is too large", infra("9", large), infra("9", small), true)
	try(ofRequest(t, ws, "alice", "patch", ""), "one that makes it smaller", infra("9", small), infra("9", large), false)
	try(ofRequest(t, ws, "alice", "patch", "status"), "a status", infra("9", large), infra("9", small), false)
	try(ofRequest(t, ws, user.APIServerUser, "create", ""), "of the server itself", infra("", large), nil, false)
	try(ofRequest(t, "default", "alice", "create", ""), "in the default workspace", infra("", large), nil, false)
	if inner.made != 0 {
		t.Errorf("%d were made", inner.made)
	}
	metrics.Register()
	counted := func() bool {
		w := httptest.NewRecorder()
		legacyregistry.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		return strings.Contains(w.Body.String(), ws)
	}
	if counted() {
		t.Error("a dry run counts as a refusal")
	}
	if err := s.Create(ofRequest(t, ws, "alice", "create", ""), "/infras/"+ws+"/a", infra("", large), &socialweb.Infra{}, 0); !apierrors.IsForbidden(err) || !counted() {
		t.Errorf("the write: %v, counted %t", err, counted())
	}
}
