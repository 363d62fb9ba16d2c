package repostore

import (
	"sync"
	"time"
)

// expiry tells which intents' owners are not waited for any more. The deadline in
// an intent is its owner's wall clock, which may be far ahead of ours; so an
// intent that this process has seen for a whole term, by its own clock,
// has expired too. An owner's put ends well within the term, so it can't be at
// work any more.
type expiry struct {
	term time.Duration

	mu   sync.Mutex
	seen map[string]sighting // by etcd key
}

// sighting is when an intent was first seen.
type sighting struct {
	nonce string
	since time.Time
}

func newExpiry(term time.Duration) *expiry { return &expiry{term: term, seen: map[string]sighting{}} }

// expired tells whether nobody waits for it's owner any more.
func (e *expiry) expired(key string, it *intent, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, ok := e.seen[key]
	if !ok || s.nonce != it.Nonce {
		s = sighting{it.Nonce, now}
		e.seen[key] = s
	}
	return now.After(it.Deadline) || now.Sub(s.since) > e.term
}

// keep forgets all intents but those of the keys: the others are settled.
func (e *expiry) keep(keys map[string]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.seen {
		if !keys[key] {
			delete(e.seen, key)
		}
	}
}
