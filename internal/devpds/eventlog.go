package devpds

import (
	"sync"
	"time"
)

// eventLog is the sequence of events. The newest are in memory, the rest in the
// store, those beyond the limits of both are forgotten.
type eventLog struct {
	store store
	// keep is how many events stay in memory.
	keep int

	mu sync.Mutex
	// tail holds the newest events, seqs without gaps up to last.
	tail []event
	last uint64
	// forgotten is the newest seq that can't be had any more.
	forgotten uint64
	// changed is closed by the next append.
	changed chan struct{}
}

// newEventLog continues a saved sequence.
func newEventLog(st store, s *saved, keep int) *eventLog {
	return &eventLog{store: st, keep: keep, last: s.lastSeq, forgotten: s.forgotten, changed: make(chan struct{})}
}

// append publishes events that are durable already. Their seqs follow the last.
func (l *eventLog) append(events []event) {
	if len(events) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, events...)
	l.last = events[len(events)-1].seq
	if over := len(l.tail) - l.keep; over > l.keep/4 { // not one by one
		if _, ok := l.store.(memoryStore); ok {
			l.forgotten = l.tail[over-1].seq
		}
		l.tail = append([]event(nil), l.tail[over:]...)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// state is the newest seq, the newest forgotten one, and a channel that closes
// when there is something newer.
func (l *eventLog) state() (last, forgotten uint64, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.forgotten, l.changed
}

// after returns events after a seq, at most limit.
func (l *eventLog) after(seq uint64, limit int) ([]event, error) {
	l.mu.Lock()
	if len(l.tail) > 0 && seq+1 >= l.tail[0].seq {
		from := min(int(seq+1-l.tail[0].seq), len(l.tail))
		out := l.tail[from:min(from+limit, len(l.tail))]
		l.mu.Unlock()
		return out, nil // the tail is only ever appended to or replaced
	}
	l.mu.Unlock()
	return l.store.events(seq, limit)
}

// firstSince is the oldest event after a seq that is not before t.
func (l *eventLog) firstSince(seq uint64, t time.Time) (event, bool, error) {
	for {
		events, err := l.after(seq, 500)
		if err != nil || len(events) == 0 {
			return event{}, false, err
		}
		for _, e := range events {
			if !e.at.Before(t) {
				return e, true, nil
			}
			seq = e.seq
		}
	}
}

// forget notes that events up to seq are gone from the store.
func (l *eventLog) forget(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgotten = max(l.forgotten, seq)
}
