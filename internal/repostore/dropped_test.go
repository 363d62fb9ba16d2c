package repostore

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// givenUp makes an update whose put is still on its way when its intent is dropped.
func givenUp(t *testing.T) *replica {
	t.Helper()
	r := alone(t)
	r.unknown(memFault{late: true})
	if _, err := r.update(r.ctx(), "o", "", func(w *widget) error {
		setLabel(w, "w1")
		w.Spec.Text, w.Spec.Secret = "late", "w1"
		return nil
	}); !apierrors.IsTimeout(err) {
		t.Fatal(err)
	}
	r.back()
	r.clock.jump(time.Hour)
	r.hub.sweep(r.ctx(), atOnce)
	if left := r.keysBelow("intents"); len(left) > 0 {
		t.Fatalf("intents left: %q", left)
	}
	return r
}

// A put that lands after its intent was dropped brings its private part, and takes
// nothing from the private writes between.
func TestLatePutAfterPrivateWrites(t *testing.T) {
	r := givenUp(t)
	for _, change := range []func(*widget) error{
		func(w *widget) error { setLabel(w, "w2"); w.Spec.Secret = "w2"; return nil },
		func(w *widget) error { w.Status.Phase = "Held"; return nil },
	} {
		if _, err := r.update(r.ctx(), "o", "", change); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := r.shown("o")
	r.repo.land()
	obj, _ := converged(t, "o", r)
	if obj.Spec.Text != "late" || !hasLabels(obj, "w1", "w2") || obj.Spec.Secret != "w2" || obj.Status.Phase != "Held" {
		t.Errorf("%+v", obj)
	}
	if obj.Generation != before.Generation+1 {
		t.Errorf("generation %d after %d", obj.Generation, before.Generation)
	}
	r.publish(t)
	checkInSync(t, r, "Held")
}

// The same bytes, after the record was something else: they are somebody else's,
// whatever was written between.
func TestBytesThatComeBackAfterPrivateWrites(t *testing.T) {
	r := givenUp(t)
	for _, text := range []string{"between", "base", "late"} {
		r.repo.foreign(recordKey("o"), widgetRecord(text))
		r.deliverAll()
	}
	if obj, _ := converged(t, "o", r); hasLabels(obj, "w1") || obj.Spec.Secret != "" {
		t.Errorf("%+v", obj)
	}
}

// compacted is an etcd that has forgotten its history.
type compacted struct{ clientv3.KV }

func (c compacted) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	op := clientv3.OpGet(key, opts...)
	if op.Rev() != 0 {
		return nil, rpctypes.ErrCompacted
	}
	return c.KV.Get(ctx, key, opts...)
}

// Without the history that would tell who changed what, the private writes stay and
// the declaration comes in alone.
func TestLatePutWhoseBaseIsCompacted(t *testing.T) {
	r := givenUp(t)
	if _, err := r.label(r.ctx(), "o", "w2"); err != nil {
		t.Fatal(err)
	}
	c := clientv3.NewCtxClient(t.Context())
	c.KV, c.Lease, c.Watcher = compacted{r.etcd.KV}, r.etcd.Lease, r.etcd.Watcher
	r.hub.etcd = c
	r.repo.land()
	if obj, _ := converged(t, "o", r); obj.Spec.Text != "late" || !hasLabels(obj, "w2") || hasLabels(obj, "w1") {
		t.Errorf("%+v", obj)
	}
}

// What isn't stored as JSON, or would change a declaration, is not merged.
func TestMergeRefuses(t *testing.T) {
	s := alone(t).store
	object := func(text string) []byte {
		b, err := s.encode(aWidget("o", text))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string][3][]byte{
		"not JSON":                   {object("a"), []byte("\x00\x01"), object("a")},
		"a declaration of both":      {object("a"), object("b"), object("c")},
		"a declaration of the other": {object("a"), object("a"), object("c")},
	} {
		if obj, err := s.merge(c[0], c[1], c[2]); !errors.Is(err, errUnmergeable) {
			t.Errorf("%s: %v, %v", name, obj, err)
		}
	}
}
