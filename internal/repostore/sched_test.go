package repostore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// sched is a deterministic scheduler. Every goroutine of the system under test
// parks before each thing that it does to the world (a transaction in etcd, a
// call to the PDS) and at each pause of a retry loop; once all are parked or
// blocked, the scheduler lets one go on, by the choices that it is given. Time is
// the bubble's: it stands still until the scheduler lets it pass.
type sched struct {
	choices *choices
	views   string     // the etcd prefix of this schedule's views
	commits func() int // of the repository

	mu      sync.Mutex // guards what follows
	parked  []*parkedAt
	arrived int
	last    string // the actor that went last
	changes int    // of the world: a retry before the next one would find nothing new
	idle    int    // times in a row that time had to pass
	history []viewChange
	trace   []string
	taking  map[string]int // objects that have taken room and aren't made yet
}

// parkedAt is a goroutine that waits for its turn.
type parkedAt struct {
	actor, point string
	replica      *schedReplica
	order        int
	pausedAt     int         // changes when it paused; -1: it doesn't pause
	ready        func() bool // nil: always
	resume       chan struct{}
}

// viewChange is one state of a view, in the order of etcd's revisions.
type viewChange struct {
	revision int64
	name     string
	value    []byte // nil: deleted
	by       string
}

func (c viewChange) String() string {
	if c.value == nil {
		return fmt.Sprintf("[%s gone at revision %d]", c.name, c.revision)
	}
	st, object, err := openStamp(c.value)
	obj, err2 := runtime.Decode(widgetCodec, object)
	if err := errors.Join(err, err2); err != nil {
		return err.Error()
	}
	w := obj.(*widget)
	return fmt.Sprintf("[%s at revision %d: uid %s, generation %d, labels %v, items %v, cid %.6s, rev %s]", c.name, c.revision, w.UID, w.Generation,
		slices.Sorted(maps.Keys(w.Labels)), slices.Sorted(maps.Keys(w.Spec.Items)), tail(st.CID), st.Rev)
}

type schedReplicaKey struct{}

func schedReplicaFrom(ctx context.Context) *schedReplica {
	r, _ := ctx.Value(schedReplicaKey{}).(*schedReplica)
	return r
}

// beforeEtcd parks before a call to etcd.
func beforeEtcd(ctx context.Context, what string) error {
	if r := schedReplicaFrom(ctx); r != nil {
		r.sched.park(r, actorFrom(ctx), "etcd: "+what, nil)
	}
	return ctx.Err()
}

// park waits for the turn. A goroutine of a replica that has crashed ends.
func (s *sched) park(r *schedReplica, actor, point string, ready func() bool) {
	if r.dead.Load() {
		goruntime.Goexit()
	}
	if s.choices == nil {
		return // nobody schedules (yet, or any more)
	}
	p := &parkedAt{actor: actor, point: point, replica: r, pausedAt: -1, ready: ready, resume: make(chan struct{})}
	s.mu.Lock()
	if point == "pause" {
		p.pausedAt = s.changesLocked()
	}
	p.order = s.arrived
	s.arrived++
	s.parked = append(s.parked, p)
	s.mu.Unlock()
	<-p.resume
	if r.dead.Load() {
		goruntime.Goexit()
	}
}

// changesLocked counts what happened in the world.
func (s *sched) changesLocked() int { return s.changes + s.commits() }

// eligible are the parked goroutines that may go on, the one that went last
// first: choice 0 is to stay with it.
func (s *sched) eligible() []*parkedAt {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*parkedAt
	now := s.changesLocked()
	for _, p := range s.parked {
		if p.pausedAt >= now || p.ready != nil && !p.ready() {
			continue // retrying before anything else happened would change nothing
		}
		out = append(out, p)
	}
	rank := func(p *parkedAt) string {
		r := "1"
		switch {
		case p.pausedAt >= 0 || p.ready != nil:
			r = "2"
		case p.actor == s.last:
			r = "0"
		}
		return fmt.Sprint(r, p.actor, "|", p.point)
	}
	slices.SortStableFunc(out, func(a, b *parkedAt) int { return strings.Compare(rank(a), rank(b)) })
	return out
}

// step lets p go on until everything is parked or blocked again.
func (s *sched) step(p *parkedAt) {
	s.mu.Lock()
	s.parked = slices.DeleteFunc(s.parked, func(q *parkedAt) bool { return q == p })
	if p.pausedAt < 0 {
		s.last = p.actor
		s.trace = append(s.trace, p.replica.name+" "+p.actor+": "+p.point)
	}
	s.mu.Unlock()
	close(p.resume)
	synctest.Wait()
}

func (s *sched) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, fmt.Sprintf(format, args...))
	s.changes++
}

// pass lets time pass.
func (s *sched) pass(d time.Duration) {
	s.note("-- %s pass", d)
	time.Sleep(d)
	synctest.Wait()
}

// crash ends all that a replica does, between two steps.
func (s *sched) crash(r *schedReplica) {
	s.note("-- %s crashes", r.name)
	r.dead.Store(true)
	r.cancel()
	s.mu.Lock()
	var gone []*parkedAt
	s.parked = slices.DeleteFunc(s.parked, func(p *parkedAt) bool {
		if p.replica == r {
			gone = append(gone, p)
		}
		return p.replica == r
	})
	s.mu.Unlock()
	for _, p := range gone {
		close(p.resume)
	}
	synctest.Wait()
}

// recordViews keeps what a transaction did to views, and tells whether it wrote
// anything.
func (s *sched) recordViews(by string, revision int64, ops []clientv3.Op) (wrote bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range ops {
		if !op.IsGet() {
			s.changes++
			wrote = true
		}
		name, ok := strings.CutPrefix(string(op.KeyBytes()), s.views)
		if !ok || op.IsGet() {
			continue
		}
		c := viewChange{revision, name, nil, by}
		if op.IsPut() {
			c.value = op.ValueBytes()
		}
		s.history = append(s.history, c)
		s.trace = append(s.trace, "   "+c.String())
	}
	return wrote
}

// states is how many changes of views there were.
func (s *sched) states() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.history)
}

// pds is the hook of the repository: it parks, and decides what goes wrong.
func (s *sched) pds(ctx context.Context, call string, key atproto.Key) memFault {
	r := schedReplicaFrom(ctx)
	if r == nil {
		return memFault{}
	}
	s.park(r, actorFrom(ctx), "pds: "+call+" "+key.RKey, nil)
	write := call == "put" || call == "delete"
	if r.late && !write || !r.loseAnswer(call) {
		return memFault{}
	}
	f := memFault{err: fmt.Errorf("%w: injected", atproto.ErrUnavailable)}
	if write {
		f = []memFault{{late: true}, {lost: true}, f}[s.choices.pick(3)]
		if r.late {
			f = memFault{late: true}
		}
	}
	s.note("-- it is %+v", f)
	return f
}

// loseAnswer decides whether a fault strikes now.
func (r *schedReplica) loseAnswer(call string) bool {
	s := r.sched
	if s.choices == nil || r.faults == nil || *r.faults == 0 {
		return false
	}
	odds := 16
	if r.late {
		odds = 3
	}
	if s.choices.pick(odds) != odds-1 {
		return false
	}
	*r.faults--
	s.note("-- fault in %s", call)
	return true
}
