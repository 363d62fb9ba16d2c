package usage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

const (
	// unknownTerm is how long a write counts whose outcome nobody knows: longer than
	// its intent lives.
	unknownTerm = 30 * time.Second
	// readyWait is how long a write waits for the first count after a start.
	readyWait = 5 * time.Second
	// seenWait is how long a write waits until the tracker has seen what this process
	// has deleted and written before.
	seenWait = 5 * time.Second
)

// ErrNotReady: not everything has been counted yet.
var ErrNotReady = errors.New("the objects of the workspaces are still being counted")

// Reservation is room that a write of this process has until the tracker sees what
// became of it. Each must be ended by Done or Unknown.
type Reservation struct {
	tracker   *Tracker
	workspace string
	id        id
	size      int
	revision  int64     // of the write, once it is known to stand
	until     time.Time // zero: until it is ended
}

// Limits tells whether the workspace has limits.
func (t *Tracker) Limits(workspace string) bool {
	return t.limits.any() && workspace != t.exempt
}

// LimitsBytes tells whether the workspace has a limit of bytes.
func (t *Tracker) LimitsBytes(workspace string) bool {
	return t.limits.Bytes > 0 && t.Limits(workspace)
}

// Create asks for room for a new object of size bytes. key is its storage key,
// /<resource>/<workspace>/<name>. It fails with an *ExceededError, with ErrNotReady, or as
// ctx does. An object that is there already needs no room: its creation will fail.
// Where the workspace has no limits, the reservation is nil, which can be ended too.
func (t *Tracker) Create(ctx context.Context, key string, size int) (*Reservation, error) {
	return t.write(ctx, key, creation(size))
}

// Grow asks for room for more bytes of an object that is there. It is as Create.
func (t *Tracker) Grow(ctx context.Context, key string, more int) (*Reservation, error) {
	return t.write(ctx, key, growth(more))
}

// plan tells which size a write gives the object, and whether that needs room.
type plan func(*account, id) (size int, needs bool)

func creation(size int) plan {
	return func(a *account, i id) (int, bool) {
		_, there := a.sizes[i]
		return size, !there
	}
}

func growth(more int) plan {
	return func(a *account, i id) (int, bool) { return a.size(i) + more, more > 0 }
}

// write reserves for a request.
func (t *Tracker) write(ctx context.Context, key string, p plan) (*Reservation, error) {
	workspace, i, ok := t.parse(key)
	if !ok || !t.Limits(workspace) {
		return nil, nil
	}
	return tried(ctx, t, workspace, func() (*Reservation, error) { return t.reserve(workspace, i, p) })
}

// tried tries once everything was counted, and where that fails once more when what this
// process has done in the workspace was seen.
func tried[T any](ctx context.Context, t *Tracker, workspace string, try func() (T, error)) (none T, err error) {
	if err := t.awaitReady(ctx, readyWait); err != nil {
		return none, err
	}
	if out, err := try(); err == nil {
		return out, nil
	}
	if err := t.awaitSeen(ctx, workspace); err != nil {
		return none, err
	}
	return try()
}

func (t *Tracker) reserve(workspace string, i id, p plan) (*Reservation, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.accountLocked(workspace)
	defer t.dropIdleLocked(workspace)
	size, e := t.sizedLocked(workspace, a, i, p)
	if e != nil {
		return nil, e
	}
	r := &Reservation{tracker: t, workspace: workspace, id: i, size: size}
	a.hold(r)
	return r, nil
}

// sizedLocked is the size that an object gets, or which limit that would pass.
func (t *Tracker) sizedLocked(workspace string, a *account, i id, p plan) (int, *ExceededError) {
	size, needs := p(a, i)
	if !needs {
		return size, nil
	}
	return size, t.exceededLocked(workspace, a, i, size)
}

// exceededLocked says which limit an object of this size would pass; nil: none.
func (t *Tracker) exceededLocked(workspace string, a *account, i id, size int) *ExceededError {
	now := t.clock.Now()
	objects, bytes := a.used(now)
	probe := &Reservation{id: i, size: size}
	a.hold(probe)
	objectsThen, bytesThen := a.used(now)
	a.drop(probe)
	switch limits := t.limits; {
	case limits.Objects > 0 && objectsThen > objects && objectsThen > limits.Objects:
		return &ExceededError{workspace, Objects, int64(objectsThen - objects), int64(objects), int64(limits.Objects)}
	case limits.Bytes > 0 && bytesThen > bytes && bytesThen > limits.Bytes:
		return &ExceededError{workspace, Bytes, bytesThen - bytes, bytes, limits.Bytes}
	}
	return nil
}

// Done ends the reservation of a write that stands since revision; 0: it was not made.
func (r *Reservation) Done(revision int64) {
	if r == nil {
		return
	}
	t := r.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if revision > r.id.place.revision {
		r.revision = revision
		r.id.place.settling = append(r.id.place.settling, r)
		return
	}
	t.releaseLocked(r)
}

// Unknown ends the reservation of a write of which nobody knows whether it stands. It
// counts on for a while.
func (r *Reservation) Unknown() {
	if r == nil {
		return
	}
	r.tracker.mu.Lock()
	defer r.tracker.mu.Unlock()
	r.until = r.tracker.clock.Now().Add(unknownTerm)
	r.tracker.unknown = append(r.tracker.unknown, r)
}

func (t *Tracker) releaseLocked(r *Reservation) {
	if a := t.accounts[r.workspace]; a != nil {
		a.drop(r)
		t.dropIdleLocked(r.workspace)
	}
}

// Freed tells that this process has deleted the object of key at revision.
func (t *Tracker) Freed(key string, revision int64) {
	workspace, i, ok := t.parse(key)
	if !ok || !t.Limits(workspace) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := t.accounts[workspace]; a != nil && revision > i.place.revision {
		if a.freed == nil {
			a.freed = map[*place]int64{}
		}
		a.freed[i.place] = max(a.freed[i.place], revision)
	}
}

// parse reads a storage key. ok is false where nothing is counted there.
func (t *Tracker) parse(key string) (workspace string, i id, ok bool) {
	parts := strings.Split(strings.Trim(key, "/"), "/")
	if len(parts) != 3 {
		return "", id{}, false
	}
	p := t.placeOf(parts[0])
	return parts[1], id{p, parts[0], parts[2]}, p != nil
}

// awaitReady waits until everything has been counted once.
func (t *Tracker) awaitReady(ctx context.Context, most time.Duration) error {
	ok, err := t.await(ctx, most, t.readyLocked)
	if err == nil && !ok {
		err = ErrNotReady
	}
	if err != nil {
		return fmt.Errorf("quota: %w", err)
	}
	return nil
}

// awaitSeen waits until the tracker has seen what this process has deleted and written
// so far, for a moment.
func (t *Tracker) awaitSeen(ctx context.Context, workspace string) error {
	until := t.latest(workspace)
	_, err := t.await(ctx, seenWait, func() bool {
		for p, revision := range until {
			if revision > p.revision {
				return false
			}
		}
		return true
	})
	return err
}

// latest are the revisions of what this process has changed last in the workspace, at
// each place where the tracker is behind it.
func (t *Tracker) latest(workspace string) map[*place]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.accounts[workspace]
	if a == nil {
		return nil
	}
	out := map[*place]int64{}
	for p, revision := range a.freed {
		if revision > p.revision {
			out[p] = revision
		} else {
			delete(a.freed, p)
		}
	}
	for r := range a.pending {
		if p := r.id.place; r.revision > p.revision {
			out[p] = max(out[p], r.revision)
		}
	}
	return out
}

// await waits until ok, which is called under the lock, or for most; 0: for ever.
func (t *Tracker) await(ctx context.Context, most time.Duration, ok func() bool) (bool, error) {
	var timer clock.Timer
	var late <-chan time.Time
	defer func() {
		if timer != nil {
			timer.Stop()
		}
	}()
	for {
		t.mu.Lock()
		if ok() {
			t.mu.Unlock()
			return true, nil
		}
		moved := t.moved
		t.mu.Unlock()
		if timer == nil && most > 0 {
			timer = t.clock.NewTimer(most)
			late = timer.C()
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-late:
			return false, nil
		case <-moved:
		}
	}
}
