package repostore

import (
	"sync"
	"time"

	"socialweb.computer/infra-apiserver/internal/metrics"
)

// unpublished are the objects in the publisher's lines, with when each got there.
// An object leaves once its record's status is the object's, or can't become it
// for now: one that is tried again stays.
type unpublished struct {
	mu         sync.Mutex // guards what follows
	publishing bool
	since      map[itemKey]time.Time
}

// itemKey names an object in the publisher's lines.
type itemKey struct{ resource, key string }

func (i item) key() itemKey { return itemKey{i.store.resource.Resource, i.ref.key} }

// begin says that this replica publishes; end that it doesn't any more.
func (u *unpublished) begin() (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.publishing, u.since = true, map[itemKey]time.Time{}
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.publishing, u.since = false, nil
	}
}

// add notes a change. One that comes while another of the same object waits shares
// its write.
func (u *unpublished) add(i item, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, waits := u.since[i.key()]; waits {
		metrics.Coalesced()
	} else if u.since != nil {
		u.since[i.key()] = now
	}
}

// take forgets an object that is looked at now, and returns since when it waited:
// a change that comes from here on is not in what is read.
func (u *unpublished) take(i item) (since time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	since = u.since[i.key()]
	delete(u.since, i.key())
	return since
}

// putBack notes that an object that was taken has to be tried again.
func (u *unpublished) putBack(i item, since time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.since != nil {
		u.since[i.key()] = since
	}
}

// observe tells whether this replica publishes, how many objects wait, and for how
// long the first has.
func (u *unpublished) observe(now time.Time) (publishing bool, waiting int, oldest time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, since := range u.since {
		oldest = max(oldest, now.Sub(since))
	}
	return u.publishing, len(u.since), oldest
}
