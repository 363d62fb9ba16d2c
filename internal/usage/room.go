package usage

import (
	"context"
	"errors"
)

// Free is for how many more records an ingest may make objects in the workspace. ok is
// false where there is no limit. It waits for the first count, and fails as ctx does.
func (t *Tracker) Free(ctx context.Context, workspace string) (n int, ok bool, err error) {
	if !t.Limits(workspace) {
		return 0, false, nil
	}
	if err := t.awaitReady(ctx, 0); err != nil {
		return 0, true, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.accounts[workspace]
	if a == nil {
		a = newAccount()
	}
	objects, bytes := a.used(t.clock.Now())
	const many = 1 << 30
	n = many
	if t.limits.Objects > 0 {
		n = max(0, t.limits.Objects-objects)
	}
	if t.limits.Bytes > 0 {
		left := max(0, t.limits.Bytes-bytes)
		n = min(n, int(min(many, left/int64(max(1, a.refused)))))
	}
	return n, true, nil
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
	r, err := t.reserve(workspace, i, func(a *account, i id) (int, bool) {
		_, there := a.sizes[i]
		return size, !there
	})
	var exceeded *ExceededError
	if errors.As(err, &exceeded) {
		if exceeded.Limit == Bytes {
			t.refusedBytes(workspace, size)
		}
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return r.Done, true, nil
}

func (t *Tracker) refusedBytes(workspace string, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.accounts[workspace]; a != nil && (a.refused == 0 || size < a.refused) {
		a.refused = size
	}
}
