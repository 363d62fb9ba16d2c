package atproto

import (
	"slices"
	"time"
)

// turns says which of the requests that wait for one host goes next: start-time fair
// queueing (Goyal, Vin, Chen 1996) over flows, which are tenants or accounts. Each flow is due at
// a virtual time, one turn later with each that it takes, and the earliest goes first:
// flows that all wait take turns, and one that comes newly waits for what is left of a
// round, however much the others have queued. Guarded by Budget.mu.
type turns struct {
	// now is the virtual time: it moves on by one turn while each of the flows takes one.
	now int64
	// flows that wait, and those that have had a turn ahead of now: these must not be
	// taken for new ones. Empty while nothing waits.
	flows   map[string]*flow
	waiting int    // requests
	events  uint64 // counts what flows are ordered by
}

// turn is a turn's length in virtual time. It divides by small numbers.
const turn = int64(720720)

// flow is what waits of one tenant, of one account that is no tenant's, or of the
// server's own.
type flow struct {
	name string
	// due is when its next turn begins.
	due int64
	// served and joined are when it last took a turn (0: never), and when it came: the
	// order of flows that are due at once.
	served, joined uint64
	// lines take turns within the flow: neither what keeps a session and a head known
	// nor what they are kept for waits for all of the other.
	lines [lines][]*waiter
	next  line // whose turn it is
}

// line of a flow.
type line int

const (
	// bulk is every other call.
	bulk line = iota
	// upkeep are calls that others of the account depend on: sessions, heads, identity.
	upkeep
	lines
)

// waiter is a request that waits.
type waiter struct {
	flow  *flow // nil: it doesn't wait any more
	line  line
	until time.Time     // when it has waited for long enough
	ended chan struct{} // closed when it waits no more; err is set before
	err   error         // nil: it has its turn
}

func (f *flow) waiting() int { return len(f.lines[bulk]) + len(f.lines[upkeep]) }

// place of the request that is at i in a line: how many of the flow go before it.
func (f *flow) place(l line, i int) int {
	other := len(f.lines[lines-1-l])
	if f.next == l {
		return i + min(other, i)
	}
	return i + min(other, i+1)
}

// flow of a name as a request that comes now finds it: it isn't kept yet where nothing
// of it waits.
func (t *turns) flow(name string) *flow {
	f := t.flows[name]
	if f == nil {
		f = &flow{name: name}
	}
	if f.waiting() == 0 {
		f.due, f.joined = max(f.due, t.now), t.events+1
	}
	return f
}

// add lets a request wait.
func (t *turns) add(name string, l line, until time.Time) *waiter {
	f := t.flow(name)
	t.events++
	if t.flows == nil {
		t.flows = map[string]*flow{}
	}
	t.flows[name] = f
	w := &waiter{flow: f, line: l, until: until, ended: make(chan struct{})}
	f.lines[l] = append(f.lines[l], w)
	t.waiting++
	return w
}

// ahead is how many turns are before that of a request that would come now.
func (t *turns) ahead(name string, l line) int {
	f := t.flow(name)
	return t.before(f, f.place(l, len(f.lines[l])))
}

// aheadOf is how many turns are before that of one that waits.
func (t *turns) aheadOf(w *waiter) int {
	return t.before(w.flow, w.flow.place(w.line, slices.Index(w.flow.lines[w.line], w)))
}

// before is how many turns, of all flows, are before the one at a place of f.
func (t *turns) before(f *flow, place int) int {
	at, n := f.due+int64(place)*turn, place
	for _, g := range t.flows {
		if g == f || g.due > at {
			continue
		}
		k := int((at - g.due) / turn) // turns of g that begin before at, or k at it
		earlier := k
		if exact := (at-g.due)%turn == 0; !exact || k < place || (k == place && g.precedes(f)) {
			earlier++
		}
		n += min(earlier, g.waiting())
	}
	return n
}

// precedes tells which of two flows that are due at once goes first: the one that has
// waited longer for a turn.
func (f *flow) precedes(g *flow) bool {
	if f.served != g.served {
		return f.served < g.served
	}
	return f.joined < g.joined
}

// pop takes the request whose turn it is; something must wait.
func (t *turns) pop() *waiter {
	var first *flow
	for _, f := range t.flows {
		if f.waiting() == 0 {
			continue
		}
		if first == nil || f.due < first.due || (f.due == first.due && f.precedes(first)) {
			first = f
		}
	}
	l := first.next
	if len(first.lines[l]) == 0 {
		l = lines - 1 - l
	}
	w := first.lines[l][0]
	first.next = lines - 1 - l
	t.now = max(t.now, first.due) + turn/int64(len(t.flows))
	first.due += turn
	t.events++
	first.served = t.events
	t.remove(w)
	return w
}

// remove lets a request wait no more. The turn that it doesn't take is the next's.
func (t *turns) remove(w *waiter) {
	l := &w.flow.lines[w.line]
	*l = slices.DeleteFunc(*l, func(o *waiter) bool { return o == w })
	w.flow = nil
	if t.waiting--; t.waiting == 0 {
		*t = turns{}
		return
	}
	for name, f := range t.flows {
		if f.waiting() == 0 && f.due <= t.now {
			delete(t.flows, name)
		}
	}
}

// oldest is the request that has waited longest; nil: none waits. All wait for equally
// long, so it is the first whose time is over.
func (t *turns) oldest() (w *waiter) {
	for _, f := range t.flows {
		for _, l := range f.lines {
			if len(l) > 0 && (w == nil || l[0].until.Before(w.until)) {
				w = l[0]
			}
		}
	}
	return w
}
