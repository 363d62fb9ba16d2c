package kcp

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// TestExecution: a shard's certificate is nobody who may execute the records of an
// account that is only read, whoever the request says that it is of. The policy of the
// server names one account, for one workspace.
func TestExecution(t *testing.T) {
	beside(t)
	e := start(t)
	stranger := e.account(t)
	follow := func(w *tenant, repo, execution string, h http.Header) answer {
		t.Helper()
		return w.do(t, request{method: http.MethodPost, path: groupPath + "/infracollections", header: h.Clone(),
			body: `{"apiVersion":"socialweb.computer/v1alpha1","kind":"InfraCollection","metadata":{"name":"of-` + repo + `"},"spec":{"repoRef":{"name":"` + repo + `"}` + execution + `}}`})
	}
	for _, name := range []string{trustedIn, "executes-not"} {
		w := e.workspace(t, name)
		for repo, a := range map[string]*testpds.Client{"trusted": e.trusted, "stranger": stranger} {
			if _, err := w.client.AtprotoRepos().Create(t.Context(), &v1alpha1.AtprotoRepo{
				ObjectMeta: metav1.ObjectMeta{Name: repo}, Spec: v1alpha1.AtprotoRepoSpec{DID: a.DID, PDS: e.pds.URL, Access: v1alpha1.AccessRead},
			}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			allowed := name == trustedIn && repo == "trusted"
			for _, h := range []http.Header{
				{}, {"X-Remote-User": {"system:apiserver"}, "X-Remote-Group": {"system:masters"}}, {"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters", "system:kcp:admin"}},
			} {
				got := follow(w, repo, `,"execution":"Follow"`, h)
				if !allowed {
					if got.status != http.StatusForbidden || !strings.Contains(got.fault.Message, a.DID) || !strings.Contains(got.fault.Message, "--kcp-execute-dids") || !strings.Contains(got.fault.Message, "ObserveOnly") {
						t.Errorf("%s in %s, %v: %d %s", repo, name, h, got.status, got.body)
					}
					w.refused(t, request{path: groupPath + "/infracollections/of-" + repo}, http.StatusNotFound)
					continue
				}
				if c := decode[v1alpha1.InfraCollection](t, got.body); got.status != http.StatusCreated || c.Spec.Execution != v1alpha1.ExecutionFollow {
					t.Errorf("%s in %s, %v: %d %s", repo, name, h, got.status, got.body)
				}
				w.must(t, request{method: http.MethodDelete, path: groupPath + "/infracollections/of-" + repo})
				w.awaitGone(t, groupPath+"/infracollections/of-"+repo)
			}
			// To look at it is open to everybody.
			got := follow(w, repo, "", nil)
			if c := decode[v1alpha1.InfraCollection](t, got.body); got.status != http.StatusCreated || c.Spec.Execution == v1alpha1.ExecutionFollow || c.Status.ExecuteGranted {
				t.Errorf("%s in %s without a word: %d %s", repo, name, got.status, got.body)
			}
			if allowed {
				continue
			}
			w.refused(t, request{method: http.MethodPatch, path: groupPath + "/infracollections/of-" + repo, kind: mergePatch, body: `{"spec":{"execution":"Follow"}}`}, http.StatusForbidden, a.DID)
		}
	}
}
