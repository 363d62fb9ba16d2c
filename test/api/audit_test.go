package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

// audited makes a server that logs to a file what a policy says.
func audited(t *testing.T, policy string) (configure func(*apiserver.Options), events func() []auditv1.Event) {
	t.Helper()
	dir := t.TempDir()
	log, file := filepath.Join(dir, "audit.log"), filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	configure = func(o *apiserver.Options) {
		o.Recommended.Audit = genericoptions.NewAuditOptions()
		o.Recommended.Audit.PolicyFile = file
		o.Recommended.Audit.LogOptions.Path = log
		o.Recommended.Audit.LogOptions.BatchOptions.Mode = genericoptions.ModeBlockingStrict
	}
	return configure, func() (out []auditv1.Event) {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			if !bytes.HasSuffix(line, []byte("\n")) {
				break // it is being written, for a request that has no answer yet
			}
			var e auditv1.Event
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			out = append(out, e)
		}
		return out
	}
}

// TestAudit: each request makes one event a stage, which says who did what to which
// object, under the ID that the aggregator gave it.
func TestAudit(t *testing.T) {
	t.Parallel()
	a := onEmbedded(t)
	configure, events := audited(t, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n")
	e := &env{server: newServerWith(t, a.pds.PLCURL, configure), account: a, proxy: newProxy(t, a)}
	e.mount(t)
	steps := []struct {
		request
		verb, name, sub string
	}{
		{request{method: http.MethodPost, path: infras, body: newInfra("a", "x")}, "create", "a", ""},
		{request{path: infras + "/a"}, "get", "a", ""},
		{request{path: infras}, "list", "", ""},
		{request{method: http.MethodPatch, path: infras + "/a", kind: mergePatch, body: `{"spec":{"description":"y"}}`}, "patch", "a", ""},
		{request{method: http.MethodPatch, path: infras + "/a?fieldManager=m&force=true", kind: applyPatch,
			body: `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"a"},"spec":{"description":"z"}}`}, "patch", "a", ""},
		{request{method: http.MethodPatch, path: infras + "/a/status", kind: mergePatch, body: `{"status":{"phase":"Deployed"}}`}, "patch", "a", "status"},
		{request{method: http.MethodDelete, path: infras + "/a"}, "delete", "a", ""},
		{request{path: infras + "?watch=1&timeoutSeconds=5"}, "watch", "", ""},
	}
	for i, s := range steps {
		s.request.header = http.Header{"Audit-Id": {fmt.Sprintf("id-%d", i)}}
		e.must(t, s.request)
	}
	generated := newInfra("", "x")
	generated.GenerateName = "g-"
	made := decode[v1alpha1.Infra](t, e.must(t, request{method: http.MethodPost, path: infras, body: generated, header: http.Header{"Audit-Id": {"generated"}}}).body)
	all := events()
	if i := slices.IndexFunc(all, func(ev auditv1.Event) bool {
		return ev.AuditID == "generated" && ev.Stage == auditv1.StageResponseComplete
	}); i < 0 ||
		all[i].Annotations[registry.GeneratedNameAnnotation] != made.Name {
		t.Errorf("the event of a generated name is number %d of %d", i, len(all))
	}
	for i, s := range steps {
		var stages []auditv1.Stage
		for _, ev := range all {
			if ev.AuditID != "" && string(ev.AuditID) == fmt.Sprintf("id-%d", i) {
				stages = append(stages, ev.Stage)
				ref := ev.ObjectRef
				if ev.Verb != s.verb || ev.User.Username != "system:apiserver" || ref == nil || ref.APIGroup != "socialweb.computer" ||
					ref.Resource != "infras" || ref.Subresource != s.sub || ev.Stage == auditv1.StageResponseComplete && ref.Name != s.name {
					t.Errorf("%s %s: %s of %s by %s at %+v", s.method, s.path, ev.Stage, ev.Verb, ev.User.Username, ref)
				}
				if ev.RequestObject != nil || ev.ResponseObject != nil {
					t.Errorf("%s %s: the event has a body", s.method, s.path)
				}
			}
		}
		want := []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseComplete}
		if s.verb == "watch" {
			want = slices.Insert(want, 1, auditv1.StageResponseStarted)
		}
		if !slices.Equal(stages, want) {
			t.Errorf("%s %s: stages %v, want %v", s.method, s.path, stages, want)
		}
	}
}

// TestAuditPolicyKeepsBodiesOut: under the policy that we give, no event of any
// request holds what is private, though the requests are all there.
func TestAuditPolicyKeepsBodiesOut(t *testing.T) {
	t.Parallel()
	policy, err := os.ReadFile("../../artifacts/audit/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a := onEmbedded(t)
	configure, events := audited(t, string(policy))
	e := &env{server: newServerWith(t, a.pds.PLCURL, configure), account: a, proxy: newProxy(t, a)}
	e.mount(t)
	obj, words := private("a")
	obj.Spec.Contracts[0].UserData = "user-data-word"
	e.create(t, obj)
	e.change(t, "a", func(i *v1alpha1.Infra) { i.Spec.Secrets[0].SecretRef.Name = "other-secret" })
	e.infra(t, "a")
	if err := e.client.Infras().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	e.do(t, request{path: "/readyz"})
	verbs := map[string]bool{}
	for _, ev := range events() {
		if ev.ObjectRef == nil || strings.HasPrefix(ev.RequestURI, "/readyz") {
			t.Errorf("event of %s", ev.RequestURI)
			continue
		}
		verbs[ev.Verb+" "+ev.ObjectRef.Resource] = true
		b, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range append(slices.Clone(words), "user-data-word", "other-secret") {
			if !slices.Contains([]string{"manager-word", "conditions", "generation", "resourceVersion", "managedFields", "kcp.io"}, w) && strings.Contains(string(b), w) {
				t.Errorf("the event of %s %s holds %q: %s", ev.Verb, ev.RequestURI, w, b)
			}
		}
	}
	for _, want := range []string{"create infras", "update infras", "get infras", "deletecollection infras", "create atprotorepos"} {
		if !verbs[want] {
			t.Errorf("no event of %s: %v", want, keys(verbs))
		}
	}
}
