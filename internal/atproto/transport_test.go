package atproto

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// However many requests are sent at once, a host gets a bounded number of
// connections, and all are answered.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int64
	full := make(chan struct{})
	var once sync.Once
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-full }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			if n >= maxConns {
				once.Do(func() { close(full) })
			}
		case http.StateClosed, http.StateHijacked:
			now.Add(-1)
		case http.StateActive, http.StateIdle:
		}
	}
	s.Start()
	defer s.Close()
	transport := NewTransport(true)
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var requests errgroup.Group
	for range maxConns + 100 {
		requests.Go(func() error {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
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
	require.NoError(t, requests.Wait())
	require.EqualValues(t, maxConns, most.Load())
}
