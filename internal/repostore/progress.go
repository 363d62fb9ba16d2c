package repostore

import (
	"context"
	"sync"
	"time"

	"github.com/bluesky-social/indigo/atproto/syntax"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
)

// progress is how far the views of one repository have come: the commits that
// were announced and are not wholly ingested, in order, and the rev before them.
type progress struct {
	mu      sync.Mutex
	known   string         // every change up to it is in the views
	last    string         // rev of the newest event in line, "" after a gap
	gap     gap            // why the whole repository must be compared
	pending []*commit      // in the order of the events
	held    int            // bytes of records that the pending ones were told
	heard   time.Time      // when the last event came
	moved   chan struct{}  // closed and replaced when known moves
	woken   func()         // called, with mu held, when there may be something to do; nil: nobody is
	history map[string]rev // evidence: target CIDs that the stream showed, by path and CID
	order   []string       // of history, for its bound
}

type rev = string

// gap is a time in which events may have been missed. The number tells one from
// the next: a comparison closes only the gap that was open when it began.
type gap struct {
	reason string // "": there is none
	number int
	lost   bool // views were lost: a head that says nothing was missed proves nothing
}

func (g gap) open() bool { return g.reason != "" }

func (p *progress) openGapLocked(reason string) {
	p.gap = gap{reason: reason, number: p.gap.number + 1, lost: p.gap.lost && p.gap.open()}
}

// lost opens a gap for views that were lost here.
func (p *progress) lost(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.openGapLocked(reason)
	p.gap.lost = true
	p.wake()
}

// commit is one announced commit with the records that still have to be ingested,
// and what the event told of them; nil: they have to be asked for.
type commit struct {
	rev  string
	open map[atproto.Key]*told
	came time.Time // when it was put in line
}

// historyBound is how many changes are remembered as evidence for settling.
const historyBound = 4096

func newProgress() *progress {
	return &progress{
		gap: gap{reason: "first connect", number: 1}, moved: make(chan struct{}),
		history: map[string]rev{},
	}
}

func (p *progress) wake() {
	if p.woken != nil {
		p.woken()
	}
}

// unsettled tells whether there is a gap, or a commit that isn't wholly ingested.
func (p *progress) unsettled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gap.open() || len(p.pending) > 0
}

// add lines an event up. It is called on the source's goroutine and returns at
// once.
func (p *progress) add(e events.Event, now time.Time, wanted func(collection string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.wake()
	p.heard = now
	if e.Kind != events.Gap && !believable(e.Rev, now) {
		e.Kind, e.Reason = events.Gap, "an event had an unbelievable rev"
	}
	if e.Kind == events.Gap {
		p.openGapLocked(e.Reason)
		p.last = ""
		return
	}
	// All before is in line, or in the views already: also what the comparison
	// after a gap found, so that the loss of the first event after it is noticed.
	before := max(p.last, p.known)
	if before != "" && e.Since != "" && e.Since != before && e.Rev > before {
		p.openGapLocked("an event was missed before rev " + e.Rev)
	}
	var said map[atproto.Key]*told
	if e.Since != "" && e.Since == before && !p.gap.open() {
		said = tellings(e) // else it is late, or repeated, or not the next one
	}
	c := &commit{rev: e.Rev, open: map[atproto.Key]*told{}, came: now}
	for _, op := range e.Ops {
		if !wanted(op.Collection) {
			continue
		}
		key := atproto.Key{Collection: op.Collection, RKey: op.RKey}
		if _, twice := c.open[key]; !twice {
			c.open[key] = p.keepLocked(said[key])
		}
		p.rememberLocked(key, op.CID, e.Rev)
	}
	// A late or repeated event is still a hint, but moves nothing.
	p.last = max(p.last, e.Rev)
	p.pending = append(p.pending, c)
	p.advanceLocked()
	if len(p.pending) > lineBound {
		p.pending, p.last, p.held = nil, "", 0
		p.openGapLocked("the line of events is full")
	}
}

// lineBound is how many commits stand in line at most: what a PDS announces and
// doesn't let us read must not fill our memory.
const lineBound = 8192

// believable tells whether a rev can be one: a TID of no more than a little while
// from now. Not every source verifies what it delivers, and a rev beyond all
// others would make the views look newer than any commit.
func believable(rev string, now time.Time) bool {
	tid, err := syntax.ParseTID(rev)
	return err == nil && tid.Time().Before(now.Add(revAhead))
}

// revAhead is how far a PDS's clock may be ahead of ours.
const revAhead = 5 * time.Minute

func (p *progress) rememberLocked(key atproto.Key, cid, at string) {
	if cid == "" {
		return
	}
	k := key.Path() + " " + cid
	if _, ok := p.history[k]; !ok {
		p.order = append(p.order, k)
	}
	p.history[k] = at
	if len(p.order) > historyBound {
		delete(p.history, p.order[0])
		p.order = p.order[1:]
	}
}

// evidence tells whether the stream showed cid as the record's content after the
// given rev, and at which rev.
func (p *progress) evidence(key atproto.Key, cid, after string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.history[key.Path()+" "+cid]
	return at, ok && at > after
}

// task is a record to ingest, with the rev that its view has to reach, and what an
// event told of it at that rev.
type task struct {
	key  atproto.Key
	rev  string
	told *told
	// wanted: it has wanted room in a collection, and is not announced.
	wanted bool
}

// tasks are the records that are to be ingested, and whether (why) the whole
// repository is to be compared first.
func (p *progress) tasks() (todo []task, g gap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	newest := map[atproto.Key]task{} // the newest rev of a record serves all
	for _, c := range p.pending {
		for key, said := range c.open {
			if t, ok := newest[key]; !ok || t.rev < c.rev {
				newest[key] = task{key: key, rev: c.rev, told: said}
			}
		}
	}
	for _, t := range newest {
		todo = append(todo, t)
	}
	return todo, p.gap
}

// done marks a record ingested up to rev.
func (p *progress) done(t task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.pending {
		if c.rev <= t.rev {
			p.forgetLocked(c, t.key)
		}
	}
	p.advanceLocked()
}

// compared says that the whole repository was compared at rev: all before is
// ingested, but for the busy records, which are put in line. g is the gap that was
// open before; one that opened meanwhile stays.
func (p *progress) compared(rev string, g gap, busy []atproto.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gap == g {
		p.gap.reason = ""
	}
	if len(busy) > 0 {
		c := &commit{rev: rev, open: map[atproto.Key]*told{}}
		for _, key := range busy {
			c.open[key] = nil
		}
		p.pending = append([]*commit{c}, p.pending...)
	} else if p.known < rev {
		p.setKnownLocked(rev)
	}
	p.advanceLocked()
}

// advanceLocked moves known over the commits in line that are done. Events alone
// prove nothing across a gap, so there known stays.
func (p *progress) advanceLocked() {
	n := 0
	for _, c := range p.pending {
		if c.rev > p.known && (len(c.open) > 0 || p.gap.open()) {
			break
		}
		n++
		for key := range c.open {
			p.forgetLocked(c, key)
		}
		if c.rev > p.known {
			p.setKnownLocked(c.rev)
		}
	}
	p.pending = p.pending[n:]
}

func (p *progress) setKnownLocked(rev string) {
	p.known = rev
	close(p.moved)
	p.moved = make(chan struct{})
}

// quietFor is how long no event came.
func (p *progress) quietFor(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now.Sub(p.heard)
}

func (p *progress) knownRev() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known
}

func (p *progress) reached(rev string) bool { return p.knownRev() >= rev }

// wait waits until known reaches rev, for d at most.
func (p *progress) wait(ctx context.Context, c clock.Clock, rev string, d time.Duration) bool {
	timer := c.NewTimer(d)
	defer timer.Stop()
	for {
		p.mu.Lock()
		ok, moved := p.known >= rev, p.moved
		p.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-moved:
		case <-timer.C():
			return p.reached(rev)
		case <-ctx.Done():
			return false
		}
	}
}
