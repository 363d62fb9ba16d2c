package repos

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// A status is made anew after anything of which it is made has changed, and always
// while something fails or lags.
func TestSight(t *testing.T) {
	t.Parallel()
	obj := &v1alpha1.AtprotoRepo{}
	settled := repostore.RepoState{Rev: "2", IngestedRev: "2", CaughtUp: true, Reachable: true, Streaming: true}
	r := &repo{}
	seen, known := r.sight(obj, settled, workspaceThere)
	require.False(t, known)
	r.keepSight(seen)
	_, known = r.sight(obj, settled, workspaceThere)
	require.True(t, known)
	for name, change := range map[string]func(*repostore.RepoState){
		"rev":     func(s *repostore.RepoState) { s.Rev, s.IngestedRev = "3", "3" },
		"source":  func(s *repostore.RepoState) { s.Streaming = false },
		"room":    func(s *repostore.RepoState) { s.Beyond = 1 },
		"lag":     func(s *repostore.RepoState) { s.Rev, s.CaughtUp = "3", false },
		"failure": func(s *repostore.RepoState) { s.Err = errors.New("away") },
		"unmount": func(s *repostore.RepoState) { *s = repostore.RepoState{} },
	} {
		state := settled
		change(&state)
		_, known = r.sight(obj, state, workspaceThere)
		require.False(t, known, name)
	}
	_, known = r.sight(obj.DeepCopy(), settled, workspaceThere)
	require.False(t, known, "another object")
	_, known = r.sight(obj, settled, workspaceGone)
	require.False(t, known, "the workspace goes")
	r.reconciled()
	_, known = r.sight(obj, settled, workspaceThere)
	require.False(t, known, "a turn of the worker")

	failing := repostore.RepoState{Err: errors.New("away")}
	seen, _ = r.sight(obj, failing, workspaceThere)
	r.keepSight(seen)
	_, known = r.sight(obj, failing, workspaceThere)
	require.False(t, known, "what fails is never settled")
}
