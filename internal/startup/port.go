package startup

import (
	"net"
	"sync"
	"time"
)

// Port is a listening port that servers use one after the other, without a moment
// in which nobody listens: connections that come in between wait in the kernel's
// queue.
type Port struct{ l *net.TCPListener }

// NewPort takes over l.
func NewPort(l *net.TCPListener) Port { return Port{l} }

// Turn is the port for one server. Closing it ends that server's turn and leaves
// the port open. The next server may have it once that server's Serve has returned.
func (p Port) Turn() (net.Listener, error) {
	return &turn{TCPListener: p.l}, p.l.SetDeadline(time.Time{})
}

// Last is the port for the last server, which closes it.
func (p Port) Last() (net.Listener, error) { return p.l, p.l.SetDeadline(time.Time{}) }

type turn struct {
	*net.TCPListener

	mu     sync.Mutex // guards closed
	closed bool
}

// Accept implements net.Listener.
func (t *turn) Accept() (net.Conn, error) {
	if err := t.over(); err != nil {
		return nil, err
	}
	conn, err := t.TCPListener.Accept()
	if err == nil {
		return conn, nil // where the turn is over now, the next call says so
	}
	if over := t.over(); over != nil {
		return nil, over
	}
	return nil, err
}

// over is net.ErrClosed once the turn is over.
func (t *turn) over() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return net.ErrClosed
	}
	return nil
}

// Close implements net.Listener.
func (t *turn) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	return t.SetDeadline(time.Unix(1, 0)) // wakes the Accept that waits
}
