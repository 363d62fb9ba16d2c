package metrics

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestSeriesOfWorkspaces: what a workspace has is told while it has something; its
// counters go a while after.
func TestSeriesOfWorkspaces(t *testing.T) {
	Register()
	const ws = "of-this-test"
	told := []Workspace{{ws, 3, 300}}
	end := AddWorkspaces(func() []Workspace { return told })
	defer end()
	defer AddWorkspaces(func() []Workspace { return []Workspace{{ws, 2, 400}} })()
	defer AddWorkspaceLimits(10, 0)()
	defer AddWorkspaceLimits(5, 7000)()
	WorkspaceWrite(ws)
	WorkspaceRefused(ws, LimitObjects)
	for name, want := range map[string]string{
		"workspace_objects":       ws + " 3",
		"workspace_bytes":         ws + " 400",
		"workspace_writes_total":  ws + " 1",
		"workspace_refused_total": "objects/" + ws + " 1",
	} {
		if got := gathered(t, name); !slices.Contains(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := fmt.Sprint(gathered(t, "workspace_limit")); got != "[bytes 7000 objects 5]" {
		t.Errorf("limits %s", got)
	}
	told = nil
	if gone := seats.leave(map[string]bool{}, time.Now().Add(workspaceIdle/2)); slices.Contains(gone, ws) {
		t.Error("the seat was given away at once")
	}
}

// TestWorkspacesBeyondTheBound: those that come late share a series, until a seat is
// free; nobody who is there loses its own.
func TestWorkspacesBeyondTheBound(t *testing.T) {
	t.Parallel()
	s, now := seating{most: 2}, time.Now()
	take := func(ws, want string, at time.Time) {
		t.Helper()
		if got := s.take(ws, at); got != want {
			t.Errorf("%s gets %s", ws, got)
		}
	}
	take("a", "a", now)
	take("b", "b", now)
	take("c", Others, now)
	later := now.Add(workspaceIdle + time.Second)
	if gone := s.leave(map[string]bool{"a": true}, later); fmt.Sprint(gone) != "[b]" {
		t.Errorf("gone: %s", gone)
	}
	take("c", "c", later)
	take("b", Others, later)
	take("a", "a", later)
}

// TestSeriesOfAWorkspaceEnd: a scrape takes the counters of those that are gone away.
func TestSeriesOfAWorkspaceEnd(t *testing.T) {
	Register()
	const ws = "gone-with-this-test"
	WorkspaceWrite(ws)
	WorkspaceRefused(ws, LimitInflight)
	workspaces(time.Now().Add(2 * workspaceIdle))
	for _, name := range []string{"workspace_writes_total", "workspace_refused_total"} {
		for _, s := range gathered(t, name) {
			if s == ws+" 1" || s == "inflight/"+ws+" 1" {
				t.Errorf("%s still has %s", name, s)
			}
		}
	}
}
