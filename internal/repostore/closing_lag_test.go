package repostore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// A replica that has not seen yet that its AtprotoRepo is being deleted binds
// nothing to it, on whatever way; a successor of that name is another.
func TestClosingRepoThatThisReplicaHasNotSeen(t *testing.T) {
	w := newWorld(t)
	leader, r := w.replica("A"), w.replica("B")
	uid := func(uid types.UID) func(*MountedRepo) { return func(m *MountedRepo) { m.UID = uid } }
	r.mount(AccessReadWrite, uid("old"))
	for _, name := range []string{"publishes", "follows"} {
		if _, err := r.create(r.ctx(), aWidget(name, "x")); err != nil {
			t.Fatal(err)
		}
		if _, err := r.update(r.ctx(), name, "", unbind); err != nil {
			t.Fatal(err)
		}
	}
	r.repo.foreign(recordKey("publishes"), nil)
	// A creation whose put lands when nothing is bound any more.
	r.unknown(memFault{late: true})
	if _, err := r.create(r.ctx(), aWidget("late", "x")); !apierrors.IsTimeout(err) {
		t.Fatal(err)
	}
	r.back()
	r.clock.jump(time.Hour)
	r.hub.sweep(r.ctx(), atOnce)
	for range 2 {
		if err := leader.hub.CloseRepo(t.Context(), w.ws, testRepo, "old"); err != nil {
			t.Fatal(err)
		}
	}
	r.repo.land()
	r.repo.foreign(recordKey("theirs"), widgetRecord("x"))
	attempt := func() (errs map[string]error) {
		errs = map[string]error{}
		_, errs["create"] = r.create(r.ctx(), aWidget("new", "x"))
		_, errs["create by uri"] = r.create(r.ctx(), following("f", testRepo, recordURIOf("theirs")))
		for name, b := range map[string]widgetBinding{"publishes": {Repo: testRepo}, "follows": {Repo: testRepo, URI: recordURIOf("follows")}} {
			_, errs[name] = r.update(r.ctx(), name, "", func(w *widget) error { w.Spec.Record = b; return nil })
		}
		return errs
	}
	for what, err := range attempt() {
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "being deleted") {
			t.Errorf("%s: %v", what, err)
		}
	}
	commits := r.repo.commits()
	for i := range rebuildMin + 1 {
		r.repo.foreign(recordKey(fmt.Sprint("many", i)), widgetRecord("x"))
	}
	again := w.replica("C") // compares for the first time
	again.mount(AccessReadWrite, uid("old"))
	for _, r := range []*replica{r, again} {
		if all, err := r.list(r.ctx()); err != nil || len(all) != 2 {
			t.Errorf("objects %v, %v", all, err)
		}
	}
	if n := r.repo.commits() - commits; n != rebuildMin+1 {
		t.Errorf("%d commits", n)
	}
	if left := append(r.keysBelow("intents"), r.keysBelow("uids")...); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	r.mount(AccessReadWrite, uid("successor"), func(m *MountedRepo) { m.Default = false })
	errs := attempt()
	if err := errs["create by uri"]; err != nil {
		t.Errorf("by uri, to the successor: %v", err)
	}
	if err := errs["publishes"]; err != nil {
		t.Errorf("binding to the successor: %v", err)
	}
}

// The mark of a closing AtprotoRepo is renewed while it is needed, and ends by
// itself.
func TestClosingMarkEndsByItself(t *testing.T) {
	r := newWorld(t).replica("A")
	lease := func() clientv3.LeaseID {
		t.Helper()
		if err := r.hub.CloseRepo(t.Context(), r.ws, testRepo, "u"); err != nil {
			t.Fatal(err)
		}
		resp, err := r.etcd.Get(t.Context(), r.hub.keys.closing(r.ws, testRepo, "u"))
		if err != nil || len(resp.Kvs) != 1 {
			t.Fatalf("%v, %v", resp, err)
		}
		return clientv3.LeaseID(resp.Kvs[0].Lease)
	}
	first := lease()
	ttl, err := r.etcd.TimeToLive(t.Context(), first)
	if err != nil || ttl.GrantedTTL != int64(closingTerm/time.Second) {
		t.Fatalf("%v, %v", ttl, err)
	}
	if again := lease(); again != first {
		t.Error("renewed long before its end")
	}
	short, err := r.etcd.Grant(t.Context(), int64(closingTerm/time.Second/4))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.etcd.Put(t.Context(), r.hub.keys.closing(r.ws, testRepo, "u"), "u", clientv3.WithLease(short.ID)); err != nil {
		t.Fatal(err)
	}
	if again := lease(); again == short.ID {
		t.Error("not renewed near its end")
	}
}
