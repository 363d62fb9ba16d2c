package usage

import (
	"context"
	"errors"
	"math"
)

// Free is for how many more objects, and for how many bytes of them, there is room in
// the workspace: math.MaxInt and math.MaxInt64 where that has no limit. ok is false where
// neither has. It waits for the first count, and fails as ctx does.
func (t *Tracker) Free(ctx context.Context, workspace string) (objects int, bytes int64, ok bool, err error) {
	if !t.Limits(workspace) {
		return math.MaxInt, math.MaxInt64, false, nil
	}
	if err := t.awaitReady(ctx, 0); err != nil {
		return 0, 0, true, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var usedObjects int
	var usedBytes int64
	if a := t.accounts[workspace]; a != nil {
		usedObjects, usedBytes = a.used(t.clock.Now())
	}
	objects, bytes = math.MaxInt, math.MaxInt64
	if t.limits.Objects > 0 {
		objects = max(0, t.limits.Objects-usedObjects)
	}
	if t.limits.Bytes > 0 {
		bytes = max(0, t.limits.Bytes-usedBytes)
	}
	return objects, bytes, true, nil
}

// Take takes room for the object that an ingest makes of a record: key is its storage
// key. ok is false where there is none. done tells at which revision the object was
// made; 0: it wasn't.
func (t *Tracker) Take(ctx context.Context, key string, size int) (done func(revision int64), ok bool, err error) {
	workspace, i, limited := t.parse(key)
	if !limited || !t.Limits(workspace) {
		return func(int64) {}, true, nil
	}
	if err := t.awaitReady(ctx, 0); err != nil {
		return nil, false, err
	}
	r, err := t.reserve(workspace, i, creation(size))
	var exceeded *ExceededError
	if errors.As(err, &exceeded) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return r.Done, true, nil
}
