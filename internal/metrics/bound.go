package metrics

import (
	"cmp"
	"slices"
	"strings"
)

// MaxRepositories is how many repositories have series of their own. Those beyond
// it, in the order of workspaces and names, share one series whose workspace and
// name are Others, with the worst of their states.
const MaxRepositories = 1000

// Others stands for a workspace and a name in the series of the repositories
// beyond MaxRepositories. No workspace has that name.
const Others = "*"

// bounded sorts repositories, makes one of those with the same workspace and name,
// and one of those beyond the bound. n is how many there are.
func bounded(all []Repository) (out []Repository, n int) {
	slices.SortStableFunc(all, func(a, b Repository) int {
		return cmp.Or(strings.Compare(a.Workspace, b.Workspace), strings.Compare(a.Name, b.Name))
	})
	var last Repository
	for _, r := range all {
		again := n > 0 && last.Workspace == r.Workspace && last.Name == r.Name
		if last = r; !again {
			n++
		}
		if n > MaxRepositories {
			r.Workspace, r.Name = Others, Others
		}
		if i := min(n, MaxRepositories+1) - 1; i < len(out) {
			out[i] = worse(out[i], r)
		} else {
			out = append(out, r)
		}
	}
	return out, n
}

// worse is a's series with the worse of each state.
func worse(a, b Repository) Repository {
	a.Reachable = a.Reachable && b.Reachable
	a.Streaming = a.Streaming && b.Streaming
	a.Lag = max(a.Lag, b.Lag)
	a.LagRevs = max(a.LagRevs, b.LagRevs)
	if b.WritePointsKnown && (!a.WritePointsKnown || b.WritePoints < a.WritePoints) {
		a.WritePoints, a.WritePointsKnown = b.WritePoints, true
	}
	return a
}
