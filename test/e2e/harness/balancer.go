package harness

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// Balancer is the Service's address. As kube-proxy does, it gives each new
// connection to one of the ready replicas, in turns, and leaves it there until one
// of the two ends it. Without a ready replica it resets connections.
type Balancer struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex // guards what follows
	ready map[string]bool
	order []string
	next  int
	conns map[net.Conn]struct{}
	total map[string]int
}

func newBalancer(addr string, backends []string) (*Balancer, error) {
	l, err := net.Listen("tcp4", addr)
	if err != nil {
		return nil, fmt.Errorf("balancer: %w", err)
	}
	b := &Balancer{listener: l, ready: map[string]bool{}, order: backends, conns: map[net.Conn]struct{}{}, total: map[string]int{}}
	b.wg.Go(b.accept)
	return b, nil
}

// Connections is how many connections a replica's address was given so far.
func (b *Balancer) Connections(addr string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total[addr]
}

// set makes a replica get new connections, or none. It says whether that is a change.
func (b *Balancer) set(addr string, ready bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := b.ready[addr] != ready
	b.ready[addr] = ready
	return changed
}

func (b *Balancer) isReady(addr string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready[addr]
}

// close ends it with every connection.
func (b *Balancer) close() {
	_ = b.listener.Close()
	b.mu.Lock()
	b.order = nil
	for c := range b.conns {
		reset(c)
	}
	b.mu.Unlock()
	b.wg.Wait()
}

func (b *Balancer) accept() {
	for {
		down, err := b.listener.Accept()
		if err != nil { // closed
			return
		}
		b.wg.Go(func() { b.serve(down) })
	}
}

// pick is the next ready replica; "": there is none.
func (b *Balancer) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.order {
		addr := b.order[b.next%len(b.order)]
		b.next++
		if b.ready[addr] {
			b.total[addr]++
			return addr
		}
	}
	return ""
}

func (b *Balancer) serve(down net.Conn) {
	addr := b.pick()
	if addr == "" {
		reset(down)
		return
	}
	up, err := net.Dial("tcp4", addr)
	if err != nil {
		reset(down)
		return
	}
	b.track(up, down)
	defer b.forget(up, down)
	var one sync.WaitGroup
	one.Go(func() { pass(up, down) })
	pass(down, up)
	one.Wait()
}

func (b *Balancer) track(conns ...net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range conns {
		b.conns[c] = struct{}{}
		if b.order == nil { // closed meanwhile
			reset(c)
		}
	}
}

func (b *Balancer) forget(conns ...net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range conns {
		delete(b.conns, c)
		_ = c.Close()
	}
}

// pass copies one direction to its end, and passes the end on: a reset as a reset.
func pass(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		reset(to)
		reset(from)
		return
	}
	if t, ok := to.(*net.TCPConn); ok {
		_ = t.CloseWrite() // the other side may have left
	}
}

func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}
