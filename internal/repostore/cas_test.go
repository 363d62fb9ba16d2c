package repostore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testpds"
)

// casIn and casOut are one operation on a record's text, for porcupine.
type casIn struct {
	record   string
	write    bool
	from, to string
}

type casOut struct {
	ok      bool
	unknown bool   // of a write: it may stand
	seen    string // of a read
}

// casModel: a register. A write succeeds only from the value that it was based on;
// one that is refused changes nothing. One whose outcome is unknown stands from any
// later time on, or never: no value comes twice, so it never stands once another has
// come in its place.
var casModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, op := range history {
			by[op.Input.(casIn).record] = append(by[op.Input.(casIn).record], op)
		}
		var out [][]porcupine.Operation
		for _, ops := range by {
			out = append(out, ops)
		}
		return out
	},
	Init: func() any { return "base" },
	Step: func(state, input, output any) (bool, any) {
		in, out := input.(casIn), output.(casOut)
		switch {
		case !in.write:
			return out.seen == state, state
		case !out.ok && !out.unknown, out.unknown && in.from != state:
			return true, state
		default:
			return in.from == state, in.to
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

// casRun is a race of API writers and direct writers on the same records.
type casRun struct {
	t        *testing.T
	replicas []*replica
	repo     atproto.Repo
	records  []string
	begun    time.Time

	mu      sync.Mutex
	history []porcupine.Operation
	added   map[string][]string // record → items that were acknowledged
	refused int
	unknown int
}

// N API writers on two replicas and M direct writers, on the same records: no
// edit is lost, a stale write is refused, and the history is that of one register
// a record.
func TestCompareAndSwap(t *testing.T) {
	t.Parallel()
	t.Run("memory, with the Cacher and events", func(t *testing.T) {
		w := newWorld(t)
		w.repo.hook = func(context.Context, string, atproto.Key) memFault {
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
			return memFault{}
		}
		race(t, w.repo, w.live("A"), w.live("B"))
	})
	t.Run("embedded PDS", func(t *testing.T) {
		pds := testpds.StartDev(t, testpds.Options{})
		c := crashCase{Endpoint: sharedEndpoint(t), Prefix: fmt.Sprintf("/test/cas%d", worlds.Add(1)), PDS: pds.URL, PLC: pds.PLCURL, Account: pds.Accounts[0].Handle, Password: pds.Accounts[0].Password}
		var replicas []*replica
		for _, name := range []string{"A", "B"} {
			r, done, err := c.open(t.Context(), &jumpClock{}, name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(done)
			r.t = t
			replicas = append(replicas, r)
		}
		race(t, replicas[0].m().Repo, replicas...)
	})
}

func race(t *testing.T, repo atproto.Repo, replicas ...*replica) {
	r := &casRun{t: t, replicas: replicas, repo: repo, records: []string{"o0", "o1", "o2"}, added: map[string][]string{}}
	for _, name := range r.records {
		if _, err := replicas[0].create(replicas[0].ctx(), aWidget(name, "base")); err != nil {
			t.Fatal(err)
		}
	}
	r.begun = time.Now()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { r.loop(fmt.Sprint("api", i), r.apiWrite, r.apiAdd) })
	}
	for i := range 3 {
		wg.Go(func() { r.loop(fmt.Sprint("pds", i), r.directWrite, r.directAdd) })
	}
	for i := range 2 {
		wg.Go(func() { r.loop(fmt.Sprint("read", i), r.apiRead) })
	}
	wg.Wait()
	r.check()
}

func (r *casRun) loop(id string, actions ...func(ctx context.Context, on *replica, record, id string)) {
	for n := 0; r.goesOn(); n++ {
		on := r.replicas[rand.IntN(len(r.replicas))]
		actions[rand.IntN(len(actions))](on.ctx(), on, r.records[rand.IntN(len(r.records))], fmt.Sprint(id, "-", n))
	}
}

// goesOn for some seconds, and until there was enough, a minute at most.
func (r *casRun) goesOn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := time.Since(r.begun)
	return since < 3*time.Second || since < time.Minute && len(r.history)-r.unknown < 50
}

// note keeps an operation that began at a time and has ended now.
func (r *casRun) note(client int, begun time.Time, in casIn, out casOut) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op := porcupine.Operation{ClientId: client, Input: in, Output: out, Call: int64(begun.Sub(r.begun)), Return: int64(time.Since(r.begun))}
	switch {
	case out.unknown:
		r.unknown++
		op.Return = math.MaxInt64
	case in.write && !out.ok:
		r.refused++
	}
	r.history = append(r.history, op)
}

func (r *casRun) noteAdded(record, item string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.added[record] = append(r.added[record], item)
}

func (r *casRun) apiRead(ctx context.Context, on *replica, record, _ string) {
	begun := time.Now()
	obj, err := on.get(ctx, record)
	if err != nil {
		r.t.Errorf("GET: %v", err)
		return
	}
	r.note(0, begun, casIn{record: record}, casOut{seen: obj.Spec.Text})
}

func (r *casRun) apiWrite(ctx context.Context, on *replica, record, id string) {
	obj, err := on.get(ctx, record)
	if err != nil {
		r.t.Errorf("GET: %v", err)
		return
	}
	begun := time.Now()
	_, err = on.update(ctx, record, obj.ResourceVersion, public(id, id))
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsTimeout(err) {
		r.t.Errorf("update with a resourceVersion: %v", err)
		return
	}
	// 504: others wrote so often between its put and its view that it can't tell any more.
	r.note(1, begun, casIn{record: record, write: true, from: obj.Spec.Text, to: id}, casOut{ok: err == nil, unknown: apierrors.IsTimeout(err)})
}

func (r *casRun) apiAdd(ctx context.Context, on *replica, record, id string) {
	_, err := on.update(ctx, record, "", func(w *widget) error { setItem(w, id); setLabel(w, id); return nil })
	switch {
	case err == nil:
		r.noteAdded(record, id)
	case !apierrors.IsConflict(err) && !apierrors.IsTimeout(err):
		r.t.Errorf("update: %v", err)
	}
}

func (r *casRun) direct(record string, change func(map[string]any)) (from string, err error) {
	ctx := withActor(r.t.Context(), foreigner)
	rec, err := r.repo.GetRecord(ctx, recordKey(record))
	if err != nil {
		return "", err
	}
	from, _ = rec.Value["text"].(string)
	change(rec.Value)
	_, err = r.repo.PutRecord(ctx, recordKey(record), rec.Value, atproto.Swap{CID: rec.CID})
	return from, err
}

func (r *casRun) directWrite(_ context.Context, _ *replica, record, id string) {
	begun := time.Now()
	from, err := r.direct(record, func(v map[string]any) { v["text"] = id })
	if err != nil && !errors.Is(err, atproto.ErrInvalidSwap) {
		r.t.Errorf("direct write: %v", err)
		return
	}
	r.note(2, begun, casIn{record: record, write: true, from: from, to: id}, casOut{ok: err == nil})
	time.Sleep(5 * time.Millisecond)
}

func (r *casRun) directAdd(_ context.Context, _ *replica, record, id string) {
	_, err := r.direct(record, func(v map[string]any) {
		items, _ := v["items"].(map[string]any)
		if items == nil {
			items = map[string]any{}
		}
		items[id] = "v"
		v["items"] = items
	})
	switch {
	case err == nil:
		r.noteAdded(record, id)
	case !errors.Is(err, atproto.ErrInvalidSwap):
		r.t.Errorf("direct write: %v", err)
	}
	time.Sleep(5 * time.Millisecond)
}

func (r *casRun) check() {
	for _, name := range r.records {
		obj, err := r.replicas[1].get(r.replicas[1].ctx(), name)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, item := range r.added[name] {
			if obj.Spec.Items[item] == "" {
				r.t.Errorf("%s: the acknowledged edit %s is lost", name, item)
			}
		}
		for item := range obj.Spec.Items {
			if item[:3] == "api" && !hasLabels(obj, item) {
				r.t.Errorf("%s: %s has its public part alone", name, item)
			}
		}
	}
	if n := len(r.history) - r.unknown; n < 50 {
		r.t.Errorf("only %d operations", n)
	}
	result := porcupine.CheckOperationsTimeout(casModel, r.history, time.Minute)
	if result != porcupine.Ok {
		r.t.Errorf("the history of %d operations is not linearizable: %v", len(r.history), result)
	}
	r.t.Logf("%d operations, %d writes refused, %d of unknown outcome, %v added", len(r.history), r.refused, r.unknown, len(r.added))
}
