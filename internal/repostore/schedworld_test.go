package repostore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage"
)

// schedPrefix is the etcd prefix of all schedulers.
const schedPrefix = "/test/schedules/"

// schedTerm is the intents' term in schedules.
const schedTerm = 15 * time.Second

// scheduler is what all schedules of a test share: an etcd prefix. Each schedule has a
// workspace of its own.
type scheduler struct {
	t      *testing.T
	prefix string
	etcd   *clientv3.Client
	raw    storage.Interface
	n      int
}

func newScheduler(t *testing.T) *scheduler {
	etcd, prefix := bridged(t), schedPrefix+fmt.Sprint(worlds.Add(1))
	return &scheduler{t: t, prefix: prefix, etcd: etcd, raw: newRawWidgets(t, etcd, prefix)}
}

// schedReplica is a replica under the scheduler.
type schedReplica struct {
	*replica
	sched  *sched
	base   context.Context
	cancel context.CancelFunc
	dead   atomic.Bool
	faults *int
	late   bool // every fault of a write is that it arrives late
}

// schedule is one run: two replicas, their clients, a foreign editor, crashes.
type schedule struct {
	*world
	*sched
	plan     plan
	replicas []*schedReplica
	client   *schedReplica // stands for what never crashes
	ops      []*schedOp
	running  atomic.Int32 // clients that are not done
	stopping bool
	restarts int
	faults   int
	dropped  bool     // an event was lost
	found    []string // violations
}

// plan is what a schedule may contain.
type plan struct {
	writers, edits, readers int
	kinds, editKinds        []string
	crashes, faults, jumps  int
	drops, late             bool // events get lost; every fault is a late write
	empty                   bool // begins without an object
	finalizer               bool
	bindings                bool // objects are unbound, bound, and follow records
	collection              int  // the repository is not the default; a collection of so many records is
	room                    int  // the workspace has room for so many objects; 0: for any number
}

// run makes one schedule from choices and returns what it violates.
func (e *scheduler) run(p plan, c *choices) (found, trace []string) {
	e.n++
	ws := fmt.Sprintf("s%d", e.n)
	synctest.Test(e.t, func(t *testing.T) {
		w := &world{t: t, prefix: e.prefix, ws: ws, repo: newMemRepo(testDID), clock: &jumpClock{}, etcd: e.etcd, raw: e.raw}
		w.repo.rev = time.Now().UnixMicro() // the bubble's time is another
		if p.finalizer {
			w.mapper.finalizer = "test/hold"
		}
		if p.collection > 0 {
			w.collection = aCollection("col", p.collection)
		}
		s := &schedule{world: w, sched: &sched{views: e.prefix + "/views" + testPrefix + "/" + ws + "/", commits: w.repo.commits}, plan: p, faults: p.faults}
		w.repo.hook = s.pds
		s.client = &schedReplica{replica: &replica{name: "-"}, sched: s.sched}
		s.play(c)
		s.check()
		found, trace = s.found, s.trace
		time.Sleep(5 * time.Minute) // whatever waits with a timeout ends
	})
	return found, trace
}

// violation notes what must not be.
func (s *schedule) violation(format string, args ...any) {
	s.found = append(s.found, fmt.Sprintf(format, args...))
}

// startReplica starts, or starts anew, the i-th replica.
func (s *schedule) startReplica(i int) {
	name := fmt.Sprintf("%c%d", 'A'+i, s.restarts)
	r := &schedReplica{sched: s.sched, faults: &s.faults, late: s.plan.late}
	r.base, r.cancel = context.WithCancel(context.Background())
	r.replica = s.replica(name, func(c *HubConfig) {
		c.IntentTerm, c.PutTimeout = schedTerm, schedTerm*2/3
		if s.plan.room > 0 {
			c.Room = &schedRoom{s.sched, s.plan.room}
		}
	})
	r.hub.keepContext = context.WithoutCancel
	r.hub.failpoint = func(point string) bool {
		if point != "pause" {
			return false
		}
		if s.choices == nil {
			time.Sleep(time.Millisecond)
		}
		s.park(r, "", point, nil)
		return true
	}
	if i < len(s.replicas) {
		s.replicas[i] = r
	} else {
		s.replicas = append(s.replicas, r)
	}
	if s.choices != nil {
		go s.ingestLoop(r)
	}
}

// actx is the context of an actor on a replica.
func (r *schedReplica) actx(actor string) context.Context {
	return withActor(context.WithValue(WithWorkspace(r.base, r.ws), schedReplicaKey{}, r), actor)
}

// ingestLoop is the mount's goroutine: it takes one event at a time, and what the
// choices make of it.
func (s *schedule) ingestLoop(r *schedReplica) {
	ctx := r.actx("ingest")
	failed := true // the first gap
	for {
		s.park(r, "ingest", "idle", func() bool { return failed || r.src.waiting() > 0 || s.stopping })
		if s.stopping || ctx.Err() != nil {
			return
		}
		if n := r.src.waiting(); n > 0 && s.choices != nil {
			switch what := s.choices.pick(8); {
			case what == 7:
				r.src.deliver(0, true) // it will come again
			case what == 6:
				r.src.deliver(s.choices.pick(n), false)
			case what == 5 && s.plan.drops:
				r.src.drop(0)
				s.dropped = true
			default:
				r.src.deliver(0, false)
			}
		}
		failed = r.m().catchUp(ctx) != nil
		if failed {
			s.park(r, "ingest", "pause", nil)
		}
	}
}

// play draws the clients and lets the choices decide who goes on.
func (s *schedule) play(c *choices) {
	s.startReplica(0)
	s.startReplica(1)
	s.setUp(c)
	for _, r := range s.replicas {
		r.deliverAll()
	}
	s.choices = c
	for _, r := range s.replicas {
		go s.ingestLoop(r)
	}
	s.draw()
	synctest.Wait()
	stay := c.pick(3) // 0: any order; else mostly without preemption
	for n := 0; s.running.Load() > 0; n++ {
		if n > 4000 {
			s.violation("livelock: the clients don't come to an end")
			break
		}
		s.next(stay)
	}
	s.finish()
}

// next does one thing.
func (s *schedule) next(stay int) {
	c, before := s.choices, s.changesLocked()
	switch what := c.pick(32); {
	case what == 31 && s.plan.crashes > 0:
		s.plan.crashes--
		i := c.pick(2)
		s.crash(s.replicas[i])
		s.restarts++
		s.startReplica(i)
		synctest.Wait()
		return
	case what == 30 && s.plan.jumps > 0:
		s.plan.jumps--
		s.pass([]time.Duration{time.Second, schedTerm + time.Second}[c.pick(2)])
		return
	case what >= 27 && what < 30 && s.repo.land():
		s.note("-- a late write lands")
		return
	}
	all := s.eligible()
	switch {
	case len(all) == 0:
		s.idle++
		s.pass([]time.Duration{10 * time.Millisecond, time.Second, schedTerm / 2}[min(s.idle-1, 2)])
		return
	case stay > 0 && c.pick(4) > 0:
		s.step(all[0])
	default:
		s.step(all[c.pick(len(all))])
	}
	if s.changesLocked() != before {
		s.idle = 0
	}
}

// finish ends the replicas' loops and lets everything come to rest.
func (s *schedule) finish() {
	s.note("-- quiet")
	landLast := s.choices.pick(2) == 1
	if !landLast {
		s.landAll()
	}
	s.stopping, s.choices = true, nil
	for {
		s.mu.Lock()
		var p *parkedAt
		if len(s.parked) > 0 {
			p = s.parked[0]
		}
		s.mu.Unlock()
		if p == nil {
			break
		}
		s.step(p)
	}
	time.Sleep(schedTerm + time.Second)
	for _, r := range s.replicas {
		r.hub.sweep(r.actx("sweep"), atOnce)
	}
	s.landAll()
	for _, r := range s.replicas {
		r.deliverAllAs(r.actx("ingest")) // what it does is part of the history
	}
	for _, r := range s.replicas {
		r.deliverAllAs(r.actx("ingest")) // for what has room since
	}
	time.Sleep(time.Second)
}

// landAll lets every write arrive that is on its way.
func (s *schedule) landAll() {
	for s.repo.land() {
		s.note("-- a late write lands")
	}
}
