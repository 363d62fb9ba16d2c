package repostore

import (
	"bytes"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
)

// A PDS that announces more and more and lets nothing be read fills no memory;
// what was dropped is compared once it answers.
func TestTheLineOfEventsIsBounded(t *testing.T) {
	t.Parallel()
	r := alone(t)
	r.repo.setDown(atproto.ErrUnavailable)
	for i := range lineBound + 100 {
		r.repo.foreign(recordKey("o"), widgetRecord("x", string(rune('a'+i%26))))
	}
	for r.src.waiting() > 0 {
		r.src.deliver(0, false)
	}
	p := r.m().progress
	p.mu.Lock()
	n, open := len(p.pending), p.gap.open()
	p.mu.Unlock()
	if n > lineBound || !open {
		t.Errorf("%d in line, gap %v", n, open)
	}
	r.repo.setDown(nil)
	r.deliverAll()
	if w, _ := r.shown("o"); w == nil || w.Spec.Text != "x" || !r.m().progress.reached(r.repo.head()) {
		t.Errorf("after it answers: %+v, known %s of %s", w, r.m().progress.knownRev(), r.repo.head())
	}
}

// Where objects are encrypted, an intent and a tombstone hold none in the clear,
// and can be rolled forward all the same.
func TestIntentsAreSealed(t *testing.T) {
	r := alone(t)
	r.store.transformer = storagetesting.NewPrefixTransformer([]byte(valuePrefix), false)
	r.repo.setDown(atproto.ErrUnknownOutcome)
	w := aWidget("s", "x")
	w.Spec.Secret = "classified"
	if _, err := r.create(r.ctx(), w); err == nil {
		t.Fatal("created while the PDS is down")
	}
	resp, err := r.etcd.Get(t.Context(), r.store.keys.intent(r.ref("s")))
	if err != nil || len(resp.Kvs) != 1 {
		t.Fatalf("no intent: %v", err)
	}
	it, err := decodeIntent(resp.Kvs[0].Value, resp.Kvs[0].ModRevision)
	if err != nil || !bytes.HasPrefix(it.Object, []byte(valuePrefix)) {
		t.Errorf("in the clear: %.80s, %v", it.Object, err)
	}
	r.repo.setDown(nil)
	sn, err := r.store.look(r.ctx(), r.ref("s"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.store.applyIntent(r.ctx(), r.ref("s"), sn.view, it, r.repo.head(), guard{intent: it}); err != nil {
		t.Fatal(err)
	}
	if w, _ := r.shown("s"); w == nil || w.Spec.Secret != "classified" {
		t.Errorf("rolled forward: %+v", w)
	}
	views, err := r.etcd.Get(t.Context(), r.prefix+"/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range views.Kvs {
		if i := bytes.Index(kv.Value, []byte("classified")); i >= 0 && !bytes.Contains(kv.Value[:i], []byte(valuePrefix)) {
			t.Errorf("in the clear at %s", kv.Key)
		}
	}
}

// An event that no commit can have sent, from a source that doesn't verify, makes
// no read stale: the repository is compared.
func TestUnbelievableRevs(t *testing.T) {
	for _, rev := range []string{"7zzzzzzzzzzzz", "zzz", ""} {
		r := alone(t)
		r.m().receive(events.Event{Kind: events.Commit, DID: testDID, Rev: rev})
		r.repo.foreign(recordKey("z"), widgetRecord("z"))
		if all, err := r.list(r.ctx()); err != nil || len(all) != 2 {
			t.Errorf("after an event at rev %q: %d objects, %v", rev, len(all), err)
		}
	}
}
