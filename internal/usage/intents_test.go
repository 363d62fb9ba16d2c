package usage

import (
	"errors"
	"testing"
)

// What a write leaves in etcd whose PDS doesn't answer counts: an open intent as the
// object that it may become, once beside that and beside the write's own reservation;
// a dropped one as bytes, until it goes.
func TestIntents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Limits{Objects: 4, Bytes: 1000}, nil)
	w.put("/views/infras/one/a", 100)
	w.put("/intents/infras/one/a", 130) // an update
	stop := w.start()
	w.has("one", 1, 130)
	w.remove("/intents/infras/one/a")
	w.has("one", 1, 100)

	r, err := w.Create(t.Context(), "/infras/one/new", 45)
	if err != nil {
		t.Fatal(err)
	}
	w.put("/intents/infras/one/new", 50)
	w.has("one", 2, 150)
	r.Done(0) // its term is over
	w.has("one", 2, 150)
	w.put("/intents/infras/one/newer", 50)
	w.put("/intents/infras/one/newest", 50)
	w.has("one", 4, 250)
	var exceeded *ExceededError
	if _, err := w.Create(t.Context(), "/infras/one/other", 1); !errors.As(err, &exceeded) || exceeded.Limit != Objects || exceeded.Used != 4 {
		t.Errorf("a creation beside open intents: %v", err)
	}
	if r, err := w.Create(t.Context(), "/infras/one/newest", 50); err != nil { // what its own intent has room for
		t.Errorf("a creation that is tried again: %v", err)
	} else {
		r.Done(0)
	}
	w.put("/views/infras/one/new", 45)
	w.remove("/intents/infras/one/new")
	w.has("one", 4, 245)

	w.remove("/intents/infras/one/newer")
	w.put("/tombstones/infras/one/newer/1", 400)
	w.put("/tombstones/infras/one/newer/2", 300)
	w.has("one", 3, 895)
	if _, err := w.Create(t.Context(), "/infras/one/other", 200); !errors.As(err, &exceeded) || exceeded.Limit != Bytes || exceeded.Used != 895 {
		t.Errorf("a creation beside what dropped intents leave: %v", err)
	}
	stop()
	w.remove("/tombstones/infras/one/newer/1")
	w.remove("/intents/infras/one/newest")
	w.start() // what went while nobody looked
	w.has("one", 2, 445)
	for _, key := range []string{"/tombstones/infras/one/newer/2", "/views/infras/one/a", "/views/infras/one/new"} {
		w.remove(key)
	}
	w.until("no account", func() bool { return len(w.accounts) == 0 })
}
