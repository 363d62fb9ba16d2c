package testproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"socialweb.computer/infra-apiserver/internal/testport"
)

// all stands for every method.
const all = "*"

// Proxy is a running proxy on loopback.
type Proxy struct {
	target *url.URL
	addr   string
	client *http.Client
	wg     sync.WaitGroup

	// connMu is its own, for closing the server waits for its callbacks.
	connMu sync.Mutex
	conns  map[net.Conn]struct{} // of the server, hijacked ones too

	mu       sync.Mutex // guards what follows
	server   *http.Server
	faults   map[string]*Fault
	changed  chan struct{} // closed when faults change
	mode     StreamMode
	modes    chan struct{} // closed when mode changes
	calls    map[string]int
	open     map[string]int  // requests that have no answer yet
	answered chan struct{}   // closed when one gets it
	tokens   map[string]bool // true: revoked
	closed   bool
	closeErr error
}

// New starts a proxy in front of a PDS, whose base URL target is.
func New(target string) (*Proxy, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("target of the proxy: %w", err)
	}
	p := &Proxy{
		target: u, faults: map[string]*Fault{}, calls: map[string]int{}, open: map[string]int{}, tokens: map[string]bool{},
		conns: map[net.Conn]struct{}{}, changed: make(chan struct{}), modes: make(chan struct{}), answered: make(chan struct{}),
		client: &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	l, err := testport.Listen() // it is given up under Refused, and taken again
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p.addr = l.Addr().String()
	p.serve(l)
	return p, nil
}

// URL is the base URL of the proxy: what a client takes for the PDS.
func (p *Proxy) URL() string { return "http://" + p.addr }

// Set makes a fault happen to the requests of the methods (NSIDs); without
// methods, to all but event streams. It replaces the fault that was set for the
// same before; the fault of a method goes before that of all.
func (p *Proxy) Set(f Fault, methods ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(methods) == 0 {
		methods = []string{all}
	}
	for _, m := range methods {
		own := f
		p.faults[m] = &own
	}
	if f.Kind == Revoked {
		for t := range p.tokens {
			p.tokens[t] = true
		}
	}
	p.signalLocked()
	if f.Kind == Refused && methods[0] == all {
		p.stopLocked()
	}
}

// Clear ends every fault. Revoked tokens stay revoked. The mode of the event
// streams stays.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = map[string]*Fault{}
	p.signalLocked()
	if p.server != nil || p.closed {
		return
	}
	l, err := relisten(p.addr)
	if err != nil {
		p.closeErr = errors.Join(p.closeErr, err) // the test sees refused connections, and Close tells why
		return
	}
	p.serveLocked(l)
}

// SetStreams changes what happens to event streams.
func (p *Proxy) SetStreams(m StreamMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	close(p.modes)
	p.modes = make(chan struct{})
}

// Calls is how many requests of a method (NSID) have come so far, whatever
// happened to them.
func (p *Proxy) Calls(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[method]
}

// Tokens are all bearer tokens that were seen: what must never show anywhere
// else.
func (p *Proxy) Tokens() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]string, 0, len(p.tokens))
	for t := range p.tokens {
		out = append(out, strings.TrimPrefix(t, "Bearer "))
	}
	return out
}

// Close ends the proxy and waits for it.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.faults = map[string]*Fault{}
	p.signalLocked()
	p.mode = StreamCut
	close(p.modes)
	p.modes = make(chan struct{})
	p.stopLocked()
	err := p.closeErr
	p.mu.Unlock()
	p.wg.Wait()
	p.client.CloseIdleConnections()
	return err
}

func (p *Proxy) signalLocked() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) serve(l net.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.serveLocked(l)
}

func (p *Proxy) serveLocked(l net.Listener) {
	s := &http.Server{
		Handler:           http.HandlerFunc(p.handle),
		ReadHeaderTimeout: time.Minute,
		ConnState:         p.track,
	}
	p.server = s
	p.wg.Go(func() { _ = s.Serve(l) }) // it ends with ErrServerClosed
}

// stopLocked closes the listener and resets every connection.
func (p *Proxy) stopLocked() {
	if p.server == nil {
		return
	}
	p.connMu.Lock()
	for c := range p.conns {
		reset(c)
	}
	p.connMu.Unlock()
	_ = p.server.Close() // what it could say, the tests see
	p.server = nil
}

// track knows the connections, for stopLocked. Of hijacked ones, which the
// server forgets, it is told by release.
func (p *Proxy) track(c net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		p.connMu.Lock()
		p.conns[c] = struct{}{}
		p.connMu.Unlock()
	case http.StateClosed:
		p.release(c)
	}
}

func (p *Proxy) release(c net.Conn) {
	p.connMu.Lock()
	defer p.connMu.Unlock()
	delete(p.conns, c)
}

// reset closes a connection with RST, so that the peer notices at once.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// relisten takes a port again that a moment ago was ours.
func relisten(addr string) (net.Listener, error) {
	var last error
	for range 100 {
		l, err := net.Listen("tcp4", addr)
		if err == nil {
			return l, nil
		}
		last = err
		time.Sleep(20 * time.Millisecond)
	}
	return nil, fmt.Errorf("proxy: listening again: %w", last)
}

// take counts a request, until end, and returns its fault, and a channel that is closed
// when faults change.
func (p *Proxy) take(method string, h http.Header) (f Fault, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[method]++
	p.open[method]++
	auth := h.Get("Authorization")
	if auth != "" {
		if p.tokens[auth] {
			return Fault{Kind: Revoked}, p.changed
		}
		p.tokens[auth] = false
	}
	for _, name := range []string{method, all} {
		own := p.faults[name]
		if own == nil {
			continue
		}
		f = *own
		if own.Times > 0 {
			if own.Times--; own.Times == 0 {
				delete(p.faults, name)
			}
		}
		break
	}
	if f.Kind == Revoked { // of the tokens that were known when it was set
		f.Kind = None
	}
	return f, p.changed
}

// streamMode is the mode, and a channel that is closed when it changes.
func (p *Proxy) streamMode() (StreamMode, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode, p.modes
}

// pause waits; false: ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
