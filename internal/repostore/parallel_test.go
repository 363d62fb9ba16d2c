package repostore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// parallelRun is some seconds of true parallelism.
type parallelRun struct {
	t        *testing.T
	w        *world
	replicas []*replica
	names    []string
	begun    time.Time

	mu                  sync.Mutex
	labels, items       map[string][]string // acknowledged, by object
	acked, refused, edn int
}

// Two replicas as a server runs them, with their Cachers, events, publishers, over
// a PDS with latency: writers of both parts, a foreign editor, readers. No
// acknowledged label and no acknowledged declaration is lost, no list is stale.
func TestParallel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.repo.hook = func(context.Context, string, atproto.Key) memFault {
		time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond)
		return memFault{}
	}
	p := &parallelRun{t: t, w: w, replicas: []*replica{w.live("A"), w.live("B")}, labels: map[string][]string{}, items: map[string][]string{}}
	for i := range 4 {
		p.names = append(p.names, fmt.Sprint("o", i))
		if _, err := p.replicas[0].create(p.replicas[0].ctx(), aWidget(p.names[i], "base")); err != nil {
			t.Fatal(err)
		}
	}
	p.begun = time.Now()
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() { p.write(fmt.Sprint("w", i)) })
	}
	wg.Go(p.edit)
	wg.Go(p.writeStatus)
	wg.Wait()
	p.check()
}

// goesOn for some seconds, and until there was enough, a minute at most.
func (p *parallelRun) goesOn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := time.Since(p.begun)
	return since < 4*time.Second || since < time.Minute && (p.acked < 50 || p.edn < 10)
}

func (p *parallelRun) pick() (*replica, string) {
	return p.replicas[rand.IntN(len(p.replicas))], p.names[rand.IntN(len(p.names))]
}

func (p *parallelRun) write(id string) {
	for n := 0; p.goesOn(); n++ {
		r, name := p.pick()
		label, private := fmt.Sprint(id, "-", n), rand.IntN(3) == 0
		_, err := r.update(r.ctx(), name, "", func(w *widget) error {
			setLabel(w, label)
			if !private {
				setItem(w, label)
			}
			return nil
		})
		p.mu.Lock()
		switch {
		case err == nil:
			p.acked++
			p.labels[name] = append(p.labels[name], label)
			if !private {
				p.items[name] = append(p.items[name], label)
			}
		case apierrors.IsConflict(err):
			p.refused++
		default:
			p.t.Errorf("write: %v", err)
		}
		p.mu.Unlock()
	}
}

// writeStatus keeps the publishers busy.
func (p *parallelRun) writeStatus() {
	for n := 0; p.goesOn(); n++ {
		r, name := p.pick()
		if err := r.setPhase(r.ctx(), name, fmt.Sprint("Phase", n)); err != nil && !apierrors.IsConflict(err) {
			p.t.Errorf("status: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// edit edits elsewhere and lists right after.
func (p *parallelRun) edit() {
	ctx := withActor(p.t.Context(), foreigner)
	for n := 0; p.goesOn(); n++ {
		r, name := p.pick()
		rec, err := p.w.repo.GetRecord(ctx, recordKey(name))
		if err != nil {
			p.t.Error(err)
			return
		}
		items, _ := rec.Value["items"].(map[string]any)
		if items == nil {
			items = map[string]any{}
		}
		item := fmt.Sprint("foreign", n)
		items[item], rec.Value["items"] = "v", items
		if _, err := p.w.repo.PutRecord(ctx, recordKey(name), rec.Value, atproto.Swap{CID: rec.CID}); err != nil {
			continue // raced
		}
		all, err := r.list(r.ctx())
		if err != nil || all[name] == nil || all[name].Spec.Items[item] == "" {
			p.t.Errorf("the list after %s shows %v, %v", item, all[name], err)
		}
		p.mu.Lock()
		p.items[name] = append(p.items[name], item)
		p.edn++
		p.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
}

func (p *parallelRun) check() {
	r := p.replicas[0]
	all, err := r.list(r.ctx())
	if err != nil {
		p.t.Fatal(err)
	}
	lost := 0
	for _, name := range p.names {
		obj := all[name]
		if !declares(obj, p.w.repo.value(recordKey(name))) {
			p.t.Errorf("%s shows something else than its record", name)
		}
		for _, l := range p.labels[name] {
			if obj.Labels[l] == "" {
				lost++
			}
		}
		for _, i := range p.items[name] {
			if obj.Spec.Items[i] == "" {
				lost++
			}
		}
	}
	if lost > 0 {
		p.t.Errorf("%d acknowledged parts are lost", lost)
	}
	if p.acked < 50 || p.edn < 10 {
		p.t.Errorf("only %d writes and %d edits", p.acked, p.edn)
	}
	eventually(p.t, "the statuses to be in the records", func() bool {
		for _, name := range p.names {
			obj, _ := r.shown(name)
			if !r.inSync(name, obj.Status.Phase) {
				return false
			}
		}
		return true
	})
	p.t.Logf("%d acknowledged, %d refused, %d foreign edits", p.acked, p.refused, p.edn)
}
