package repos

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// An AtprotoRepo says how many of its records its workspace has no room for, and that
// there are none any more; one that never had any doesn't speak of it.
func TestAtprotoRepoInAFullWorkspace(t *testing.T) {
	t.Parallel()
	var list []metav1.Condition
	c := conditions{list: &list, generation: 1, now: metav1.NewTime(time.Now())}
	for _, step := range []struct {
		what    string
		state   repostore.RepoState
		mounted bool
		status  metav1.ConditionStatus // "": there is no such condition
		reason  string
	}{
		{"it never had any", repostore.RepoState{IngestedRev: "r1"}, true, "", ""},
		{"three", repostore.RepoState{IngestedRev: "r1", Beyond: 3}, true, metav1.ConditionTrue, v1alpha1.ReasonWorkspaceFull},
		{"a new start knows nothing yet", repostore.RepoState{}, true, metav1.ConditionTrue, v1alpha1.ReasonWorkspaceFull},
		{"none any more", repostore.RepoState{IngestedRev: "r2"}, true, metav1.ConditionFalse, v1alpha1.ReasonAllServed},
		{"it isn't mounted", repostore.RepoState{}, false, "", ""},
	} {
		c.truncated(step.state, step.mounted)
		got := meta.FindStatusCondition(list, v1alpha1.ConditionTruncated)
		switch {
		case step.status == "" && got != nil:
			t.Errorf("%s: %+v", step.what, got)
		case step.status != "" && (got == nil || got.Status != step.status || got.Reason != step.reason):
			t.Errorf("%s: %+v", step.what, got)
		case step.status == metav1.ConditionTrue && !strings.Contains(got.Message, "3 more records are not served"):
			t.Errorf("%s: %s", step.what, got.Message)
		}
	}
}
