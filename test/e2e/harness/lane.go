package harness

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testport"
)

// Lane is an address of loopback that leads somewhere, or nowhere: a connection that
// a test can cut, and nobody else's.
type Lane struct {
	// Addr is where it begins, HOST:PORT.
	Addr   string
	target string

	mu    sync.Mutex // guards what follows
	l     net.Listener
	conns []net.Conn
}

// NewLane picks an address that leads nowhere yet, and once it is open to the host of
// a URL. It is cut at the test's end.
func NewLane(t testing.TB, url string) *Lane {
	t.Helper()
	addr, err := testport.Free()
	if err != nil {
		t.Fatal(err)
	}
	n := newLane(addr, url)
	t.Cleanup(n.Cut)
	return n
}

func newLane(addr, url string) *Lane {
	return &Lane{Addr: addr, target: url[strings.LastIndex(url, "/")+1:]}
}

// Open lets connections through, if it doesn't already.
func (n *Lane) Open(t testing.TB) {
	t.Helper()
	if err := n.open(); err != nil {
		t.Fatal(err)
	}
}

func (n *Lane) open() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.l != nil {
		return nil
	}
	l, err := net.Listen("tcp4", n.Addr)
	if err != nil {
		return err
	}
	n.l = l
	go n.accept(l)
	return nil
}

// accept ends when the lane is cut.
func (n *Lane) accept(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp4", n.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		n.mu.Lock()
		if n.l != l { // cut meanwhile
			_, _ = in.Close(), out.Close()
			n.mu.Unlock()
			return
		}
		n.conns = append(n.conns, in, out)
		n.mu.Unlock()
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1]) // its end is all that counts
				_ = pair[0].Close()
			}()
		}
	}
}

// Cut ends every connection, and there are no new ones until it is open again.
func (n *Lane) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.l != nil {
		_ = n.l.Close()
	}
	for _, c := range n.conns {
		_ = c.Close()
	}
	n.l, n.conns = nil, nil
}
