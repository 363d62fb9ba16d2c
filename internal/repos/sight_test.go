package repos

import (
	"errors"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// TestSight: what the status shows already is known, until the object, what was found
// about it or the state of the repository is another. What lags or fails is looked at
// again: its status tells for how long.
func TestSight(t *testing.T) {
	obj, settled := &v1alpha1.AtprotoRepo{}, repostore.RepoState{Rev: "3a", IngestedRev: "3a", CaughtUp: true}
	with := func(change func(*repostore.RepoState)) repostore.RepoState {
		s := settled
		change(&s)
		return s
	}
	for what, c := range map[string]struct {
		obj    *v1alpha1.AtprotoRepo
		state  repostore.RepoState
		turned bool
		known  bool
	}{
		"the same":       {obj, settled, false, true},
		"conflicts":      {obj, with(func(s *repostore.RepoState) { s.Conflicts = map[string]string{"at://x": "y"} }), false, true},
		"another object": {&v1alpha1.AtprotoRepo{}, settled, false, false},
		"a turn between": {obj, settled, true, false},
		"another rev":    {obj, with(func(s *repostore.RepoState) { s.Rev = "3b" }), false, false},
		"records beyond": {obj, with(func(s *repostore.RepoState) { s.Beyond = 1 }), false, false},
		"it lags":        {obj, with(func(s *repostore.RepoState) { s.CaughtUp, s.Since = false, time.Unix(1, 0) }), false, false},
		"it fails":       {obj, with(func(s *repostore.RepoState) { s.Err = errors.New("x") }), false, false},
	} {
		r := &repo{}
		first, known := r.sight(obj, settled)
		if known {
			t.Errorf("%s: known before it was shown", what)
		}
		r.keepSight(first)
		if c.turned {
			r.reconciled()
		}
		if _, known := r.sight(c.obj, c.state); known != c.known {
			t.Errorf("%s: known: %t", what, known)
		}
	}
}
