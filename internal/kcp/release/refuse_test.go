package release

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// TestWhoSays: deployments have to say that the workspace is gone, AtprotoRepos,
// collections and ComputeContracts may; none may say that it is there, and one has to say something.
func TestWhoSays(t *testing.T) {
	t.Parallel()
	says := func(is metav1.ConditionStatus) (i item) {
		if is != "" {
			i.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionWorkspaceBound, Status: is}}
		}
		return i
	}
	const gone, there = metav1.ConditionFalse, metav1.ConditionTrue
	going := says("")
	going.DeletionTimestamp = &metav1.Time{}
	begun := says("")
	begun.Annotations = map[string]string{v1alpha1.AnnotationReleasing: "true"}
	for name, c := range map[string]struct {
		has           objects
		refused, back bool
	}{
		"a deployment":                            {objects{infras: {says(gone)}}, false, false},
		"one of two":                              {objects{infras: {says(gone)}, ephemerals: {says("")}}, true, false},
		"the other goes":                          {objects{infras: {says(gone)}, ephemerals: {going}}, false, false},
		"a deployment, its repository nothing":    {objects{infras: {says(gone)}, repos: {says("")}}, false, false},
		"a deployment, its repository it's there": {objects{infras: {says(gone)}, repos: {says(there)}}, true, true},
		"a repository alone":                      {objects{repos: {says(gone)}}, false, false},
		"a collection alone":                      {objects{collections: {says("")}, ephemeralCs: {says(gone)}}, false, false},
		"a repository, a deployment nothing":      {objects{repos: {says(gone)}, infras: {says("")}}, true, false},
		"nobody":                                  {objects{repos: {says("")}, contracts: {says("")}}, true, false},
		"a ComputeContract alone":                 {objects{repos: {says("")}, contracts: {says(gone)}}, false, false},
		"a deployment, its contract nothing":      {objects{infras: {says(gone)}, contracts: {says("")}}, false, false},
		"a deployment, its contract it's there":   {objects{infras: {says(gone)}, contracts: {says(there)}}, true, true},
		"a release that was interrupted":          {objects{repos: {begun}}, false, false},
		"back":                                    {objects{ephemerals: {says(there)}}, true, true},
	} {
		r := &run{}
		if err := r.refuse(c.has); (err != nil) != c.refused || err != nil && !errors.Is(err, ErrNotGone) {
			t.Errorf("%s: %v", name, err)
		}
		if err := r.cameBack(c.has); (err != nil) != c.back || err != nil && !errors.Is(err, ErrNotGone) {
			t.Errorf("%s, under way: %v", name, err)
		}
		r.Force = true
		if err := errors.Join(r.refuse(c.has), r.cameBack(c.has)); err != nil {
			t.Errorf("%s, by force: %v", name, err)
		}
	}
}
