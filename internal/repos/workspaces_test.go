package repos

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/kcp/bindings"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// What is said of a workspace stays while nobody knows, and of one that never went nothing
// is said.
func TestWorkspaceBound(t *testing.T) {
	t.Parallel()
	is := bindings.Unknown
	m := &Manager{Config: Config{Workspace: func(string) bindings.State { return is }}}
	var list []metav1.Condition
	c := conditions{list: &list, generation: 1, now: metav1.NewTime(time.Now())}
	check := func(want metav1.ConditionStatus) {
		t.Helper()
		got := meta.FindStatusCondition(list, v1alpha1.ConditionWorkspaceBound)
		if (want == "") != (got == nil) || want != "" && got.Status != want {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	for _, step := range []struct {
		is   bindings.State
		want metav1.ConditionStatus
	}{
		{bindings.Unknown, ""},
		{bindings.Bound, ""},
		{bindings.Gone, metav1.ConditionFalse},
		{bindings.Unknown, metav1.ConditionFalse}, // after a restart
		{bindings.Bound, metav1.ConditionTrue},
		{bindings.Unknown, metav1.ConditionTrue},
		{bindings.Gone, metav1.ConditionFalse},
	} {
		is = step.is
		c.workspaceBound(m.presenceOf("one"))
		check(step.want)
	}
	c.workspaceBound(m.presenceOf("default")) // which no kcp can take away
	check("")
	is = bindings.Gone
	c.workspaceBound(m.presenceOf("one"))
	m.Workspace = nil
	c.workspaceBound(m.presenceOf("one")) // nobody looks any more
	check("")
}
