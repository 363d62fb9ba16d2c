package fairly

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/testleak"
	"socialweb.computer/infra-apiserver/internal/testwait"
)

func TestMain(m *testing.M) { testleak.Main(m) }

const workers = 3

// bench is a crew whose items of workspace "slow" hang until they are let go.
type bench struct {
	*Crew[string]
	let  chan struct{}
	done chan string // items of other workspaces

	mu         sync.Mutex // guards what follows
	slow, most int        // at work now, and at most
	ended      map[string]int
}

func start(t *testing.T) *bench {
	b := &bench{let: make(chan struct{}), done: make(chan string, 100), ended: map[string]int{}}
	b.Crew = &Crew[string]{
		Queue:     workqueue.NewTyped[string](),
		Workspace: func(k string) string { ws, _, _ := strings.Cut(k, "/"); return ws },
		Do:        b.do, Workers: workers, Clock: clock.RealClock{}, Patience: time.Millisecond,
	}
	var run sync.WaitGroup
	run.Go(func() { b.Run(t.Context()) })
	t.Cleanup(func() {
		b.Queue.ShutDown()
		run.Wait()
	})
	return b
}

func (b *bench) do(_ context.Context, k string) {
	if b.Workspace(k) != "slow" {
		b.done <- k
		return
	}
	b.note(1, "")
	<-b.let
	b.note(-1, k)
}

func (b *bench) note(n int, ended string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slow += n
	b.most = max(b.most, b.slow)
	if ended != "" {
		b.ended[ended]++
	}
}

func (b *bench) await(t *testing.T, k string) {
	t.Helper()
	select {
	case got := <-b.done:
		if got != k {
			t.Fatalf("done: %s, want %s", got, k)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%s waits for a workspace that hangs", k)
	}
}

func TestWorkspaceThatHangsHoldsUpItselfAlone(t *testing.T) {
	b := start(t)
	items := 20 * workers
	for range 2 { // an item that waits already waits once
		for i := range items {
			b.Queue.Add(fmt.Sprintf("slow/%d", i))
		}
		b.Queue.Add("other/x")
		b.await(t, "other/x")
	}
	// A worker goes on after its patience, whether the item's own goroutine has run or not.
	testwait.Until(t, "as many at work as there are workers", func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.slow < workers {
			return fmt.Errorf("%d of %d", b.slow, workers)
		}
		return nil
	})
	close(b.let)
	testwait.Until(t, "all that waited", func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.ended) < items {
			return fmt.Errorf("%d of %d", len(b.ended), items)
		}
		return nil
	})
	b.Queue.Add("other/y")
	b.await(t, "other/y")
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.most != workers {
		t.Errorf("%d items of one workspace at once, want %d", b.most, workers)
	}
}

func TestNoItemIsWorkedAtTwiceAtOnce(t *testing.T) {
	b := start(t)
	b.Queue.Add("slow/x")
	b.Queue.Add("other/x")
	b.await(t, "other/x")
	for i := range 10 {
		b.Queue.Add("slow/x")
		b.Queue.Add(fmt.Sprintf("other/%d", i))
		b.await(t, fmt.Sprintf("other/%d", i))
	}
	close(b.let)
	b.Queue.ShutDownWithDrain()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.most != 1 {
		t.Errorf("%d at once", b.most)
	}
}
