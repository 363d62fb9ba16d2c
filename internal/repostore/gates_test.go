package repostore

import (
	"sync"
	"testing"
	"time"
)

// gates stop goroutines at failpoints, so that a test says what happens in which
// order. A pause of a retry loop is short while gates rule.
type gates struct {
	mu     sync.Mutex
	closed map[string]*gate
	seen   map[string]int
	last   chan struct{} // closed and replaced at each step
}

// gate stops the next goroutine that reaches its point.
type gate struct {
	point   string
	arrived chan struct{}
	open    chan struct{}
}

func newGates() *gates {
	return &gates{closed: map[string]*gate{}, seen: map[string]int{}, last: make(chan struct{})}
}

// step is the hub's failpoint.
func (g *gates) step(point string) bool {
	g.mu.Lock()
	g.seen[point]++
	close(g.last)
	g.last = make(chan struct{})
	at := g.closed[point]
	delete(g.closed, point)
	g.mu.Unlock()
	if at != nil {
		close(at.arrived)
		<-at.open
	}
	if point == "pause" {
		time.Sleep(time.Millisecond)
		return true
	}
	return false
}

// stop closes a gate at a point.
func (g *gates) stop(point string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := &gate{point: point, arrived: make(chan struct{}), open: make(chan struct{})}
	g.closed[point] = at
	return at
}

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

// reached waits until a goroutine stands at the gate.
func (g *gate) reached(t testing.TB) {
	t.Helper()
	select {
	case <-g.arrived:
	case <-time.After(patience):
		t.Fatalf("nothing came to %s", g.point)
	}
}

func (g *gate) release() { close(g.open) }

// passed waits until a point has been passed n more times: whoever retries there
// has looked and found nothing to do.
func (g *gates) passed(t testing.TB, point string, n int) {
	t.Helper()
	g.mu.Lock()
	want := g.seen[point] + n
	g.mu.Unlock()
	deadline := time.After(patience)
	for {
		g.mu.Lock()
		ok, last := g.seen[point] >= want, g.last
		g.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-last:
		case <-deadline:
			t.Fatalf("%s was not passed", point)
		}
	}
}

// ended waits for an operation.
func ended(t testing.TB, what string, c <-chan result) result {
	t.Helper()
	select {
	case r := <-c:
		return r
	case <-time.After(patience):
		t.Fatalf("%s hangs", what)
		return result{}
	}
}
