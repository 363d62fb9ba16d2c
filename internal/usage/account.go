package usage

import (
	"time"
)

// account is what one workspace has.
type account struct {
	// sizes are the bytes of each object's value in etcd: for each place, by what
	// follows the workspace in its key.
	sizes map[id]int
	bytes int64
	// pending are the writes of this process that the tracker may not have seen; nil:
	// there are none, as in most workspaces.
	pending map[*Reservation]bool
	// freed is the revision of this process's last deletion, at each place: a creation
	// that comes after it must not be refused because the tracker is behind it. Nil:
	// there was none.
	freed map[*place]int64
}

// id is an object within a workspace.
type id struct {
	place    *place
	resource string
	name     string
}

func newAccount() *account {
	return &account{sizes: map[id]int{}}
}

// set makes the object's size what it is; negative: it is gone.
func (a *account) set(i id, size int) {
	a.bytes -= int64(a.sizes[i])
	if size < 0 {
		delete(a.sizes, i)
		return
	}
	a.bytes += int64(size)
	a.sizes[i] = size
}

// size is what the object has after all that is known to stand.
func (a *account) size(i id) int {
	size := a.sizes[i]
	for r := range a.pending {
		if r.id == i && r.revision != 0 {
			size = max(size, r.size)
		}
	}
	return size
}

func (a *account) hold(r *Reservation) {
	if a.pending == nil {
		a.pending = map[*Reservation]bool{}
	}
	a.pending[r] = true
}

// drop ends what hold began.
func (a *account) drop(r *Reservation) {
	if delete(a.pending, r); len(a.pending) == 0 {
		a.pending = nil
	}
}

// idle tells that nothing is known of the workspace that matters.
func (a *account) idle() bool { return len(a.sizes) == 0 && len(a.pending) == 0 }

// used is what the workspace has and what is on its way to it. Of several writes of
// one object the largest counts, and only by what it adds.
func (a *account) used(now time.Time) (objects int, bytes int64) {
	objects, bytes = len(a.sizes), a.bytes
	var coming map[id]int
	for r := range a.pending {
		if !r.until.IsZero() && now.After(r.until) {
			a.drop(r)
			continue
		}
		if coming == nil {
			coming = map[id]int{}
		}
		coming[r.id] = max(coming[r.id], r.size)
	}
	for i, size := range coming {
		there, ok := a.sizes[i]
		if !ok {
			objects++
		}
		bytes += int64(max(0, size-there))
	}
	return objects, bytes
}
