package usage

import (
	"maps"
	"time"
)

// account is what one workspace has.
type account struct {
	// sizes are the bytes of each object's value in etcd: for each place, by what
	// follows the workspace in its key.
	sizes map[id]int
	bytes int64
	// intents are the bytes of each open intent, by its object: a creation whose outcome
	// nobody knows has one until its PDS answers, and no object. Nil: there are none.
	intents map[id]int
	// remains are the bytes of what dropped intents leave, and left is their sum. Nil:
	// there are none.
	remains map[id]int
	left    int64
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

// set makes the size of what is at p what it is; negative: it is gone.
func (a *account) set(p *place, i id, size int) {
	switch p.holds {
	case holdsObjects:
		a.setObject(i, size)
	case holdsIntents:
		a.intents = put(a.intents, i, size)
	case holdsRemains:
		a.left += int64(max(0, size) - a.remains[i])
		a.remains = put(a.remains, i, size)
	}
}

// at are those that are known at p.
func (a *account) at(p *place) map[id]int {
	switch p.holds {
	case holdsIntents:
		return a.intents
	case holdsRemains:
		return a.remains
	default:
		return a.sizes
	}
}

// put makes a size what it is in a map that is nil while it is empty.
func put(m map[id]int, i id, size int) map[id]int {
	if size >= 0 {
		if m == nil {
			m = map[id]int{}
		}
		m[i] = size
		return m
	}
	if delete(m, i); len(m) == 0 {
		return nil
	}
	return m
}

func (a *account) setObject(i id, size int) {
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
func (a *account) idle() bool {
	return len(a.sizes) == 0 && len(a.pending) == 0 && a.intents == nil && a.remains == nil
}

// used is what the workspace has and what is on its way to it. Of several writes of
// one object, and its intent, the largest counts, and only by what it adds.
func (a *account) used(now time.Time) (objects int, bytes int64) {
	objects, bytes = len(a.sizes), a.bytes+a.left
	coming := maps.Clone(a.intents)
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
