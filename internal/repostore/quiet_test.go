package repostore

import "testing"

// Where one replica looks, an edit that no event tells of shows in the cache without
// a consistent read; also in a repository that was mounted anew since.
func TestLooking(t *testing.T) {
	w := newWorld(t)
	r := w.live("A", func(c *HubConfig) { c.LookRate = 50 })
	shows := func(name string) {
		t.Helper()
		eventually(t, name, func() bool {
			all, err := r.cached()
			return err == nil && all[name] != nil
		})
	}
	eventually(t, "the first comparison", func() bool { return r.hub.Ready() == nil })
	r.src.stall()
	w.repo.foreign(recordKey("one"), widgetRecord("theirs"))
	shows("one")

	again := newMemSource(w.repo)
	r.hub.SetRepo(MountedRepo{Workspace: r.ws, Name: testRepo, Repo: r.repo, Source: again, Default: true, Access: AccessReadWrite})
	again.stall()
	w.repo.foreign(recordKey("two"), widgetRecord("theirs"))
	shows("two")
}
