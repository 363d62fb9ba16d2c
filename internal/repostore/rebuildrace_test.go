package repostore

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Whatever of a record or its object came to be after a rebuild had looked leaves the
// record to ingest: one key a case.
func TestRebuildComparesEachName(t *testing.T) {
	for what, key := range map[string]func(r *replica) string{
		"a view":       func(r *replica) string { return r.store.keys.view(r.ref("p")) },
		"an identity":  func(r *replica) string { return r.store.keys.uid(widgetResource.Resource, r.ws, testDID, "p") },
		"an intent":    func(r *replica) string { return r.store.keys.intent(r.ref("p")) },
		"a tombstone":  func(r *replica) string { return r.store.keys.tombstones(r.ref("p")) + "nonce" },
		"a detachment": func(r *replica) string { return r.store.keys.detached(widgetResource.Resource, r.ws, testDID, "p") },
		"a deletion":   func(r *replica) string { return r.store.keys.fence(r.ws, testDID) },
		"nothing":      nil,
	} {
		t.Run(what, func(t *testing.T) {
			r := alone(t)
			r.repo.foreign(recordKey("p"), widgetRecord("p"))
			held, commit, err := r.repo.Export(t.Context(), []string{widgetCollection})
			if err != nil {
				t.Fatal(err)
			}
			rb := &rebuilder{Store: r.store, m: r.m(), held: held, rev: commit.Rev}
			if err := r.m().raiseHorizon(t.Context(), commit.Rev); err != nil {
				t.Fatal(err)
			}
			left := 0
			if key != nil {
				left = 1
				if _, err := r.etcd.Put(t.Context(), key(r), "3kzzzzzzzzzzz"); err != nil {
					t.Fatal(err)
				}
			}
			if err := rb.one(t.Context(), recordKey("p")); err != nil || len(rb.left) != left {
				t.Errorf("left %v, %v", rb.left, err)
			}
			resp, err := r.etcd.Get(t.Context(), r.store.keys.view(r.ref("p")), clientv3.WithCountOnly())
			if want := int64(1 - left); err != nil || what != "a view" && resp.Count != want {
				t.Errorf("%d views, want %d, %v", resp.Count, want, err)
			}
		})
	}
}
