package repostore

import (
	"strconv"
	"testing"

	"k8s.io/apiserver/pkg/storage"
)

// A deletion that another replica finishes answers the object at the revision of
// that deletion, as the watches show it, whatever was written since.
func TestDeletionFinishedByAnother(t *testing.T) {
	a, b, _ := begin(t)
	view := a.gates.stop("delete.before-view")
	deleted := start(func() (*widget, error) {
		out := &widget{}
		return out, a.api().Delete(a.ctx(), a.key("o"), out, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
	})
	view.reached(t)
	b.deliverAll()
	resp, err := b.etcd.Get(t.Context(), b.store.keys.fence(b.ws, b.repo.DID()))
	if err != nil || len(resp.Kvs) != 1 {
		t.Fatalf("the fence that the deletion bumps: %v, %v", resp, err)
	}
	for _, name := range []string{"p", "q", "r"} {
		if _, err := b.create(b.ctx(), aWidget(name, "later")); err != nil {
			t.Fatal(err)
		}
	}
	view.release()
	r := ended(t, "the deletion", deleted)
	if r.err != nil {
		t.Fatal(r.err)
	}
	if want := strconv.FormatInt(resp.Kvs[0].ModRevision, 10); r.obj.ResourceVersion != want {
		t.Errorf("resourceVersion %s, want %s", r.obj.ResourceVersion, want)
	}
}
