package atproto

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// However many requests are sent at once, a host gets a bounded number of
// connections, and all are answered.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const requested = maxConns + 100
		var served atomic.Int64
		answer := make(chan struct{})
		client, dialed := piped(t, func(http.ResponseWriter, *http.Request) {
			served.Add(1)
			<-answer
		})
		var requests errgroup.Group
		for range requested {
			requests.Go(func() error {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://pds.example", http.NoBody)
				if err != nil {
					return err
				}
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				return resp.Body.Close()
			})
		}
		synctest.Wait() // until none gets on without an answer
		require.EqualValues(t, maxConns, dialed.Load())
		require.EqualValues(t, maxConns, served.Load())
		close(answer)
		require.NoError(t, requests.Wait())
		require.EqualValues(t, requested, served.Load())
	})
}

// One call after the other is made on one connection. It is in a bubble, for a connection
// that isn't free 50 ms after its answer is given up.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, dialed := piped(t, func(w http.ResponseWriter, _ *http.Request) {
			reply(w, http.StatusBadRequest, xrpcError("RepoNotFound", ""))
		})
		c, err := NewClient(Config{PDS: "http://pds.example", DID: testDID, HTTP: client, Keys: noKeys{}})
		require.NoError(t, err)
		for range 20 {
			require.ErrorIs(t, get(c), ErrRepoNotFound)
		}
		require.EqualValues(t, 1, dialed.Load())
	})
}

// piped is a client on our transport whose connections all go to a handler in the same
// bubble; dialed counts them.
func piped(t *testing.T, handler http.HandlerFunc) (client *http.Client, dialed *atomic.Int64) {
	t.Helper()
	l, dialed := pipes{make(chan net.Conn), make(chan struct{})}, &atomic.Int64{}
	s := &http.Server{Handler: handler}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	transport := NewTransport(true)
	t.Cleanup(transport.CloseIdleConnections)
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		dialed.Add(1)
		return l.dial(ctx)
	}
	return &http.Client{Transport: transport}, dialed
}

// pipes is a listener whose connections are within the process.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Net: "pipe"} }
