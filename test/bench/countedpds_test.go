package bench

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/devpds"
	"socialweb.computer/infra-apiserver/internal/testpds"
)

// countedPDS is the embedded PDS of many accounts at two addresses: one for the
// server that is measured, at which connections, event streams and requests are
// counted, and one for everybody else.
type countedPDS struct {
	*testpds.Server        // at the address for everybody else
	counted         string // the base URL for the server that is measured

	conns, streams, requests atomic.Int64
	// most at once since they were set to zero.
	mostConns, mostStreams atomic.Int64
}

// startCounted makes a PDS with accounts of these names.
func startCounted(b *testing.B, names []string) *countedPDS {
	b.Helper()
	counted, plain := listenLocal(b), listenLocal(b)
	p := &countedPDS{counted: "http://" + counted.Addr().String()}
	c := devpds.Config{Memory: true, ListenAddr: "-", PublicURL: p.counted}
	for _, name := range names {
		c.Accounts = append(c.Accounts, devpds.AccountConfig{Handle: name + ".test"})
	}
	pds, err := devpds.Open(c)
	if err != nil {
		b.Fatal(err)
	}
	p.Server = &testpds.Server{URL: "http://" + plain.Addr().String(), PLCURL: p.counted}
	for _, a := range pds.Accounts() {
		p.Accounts = append(p.Accounts, testpds.Account{Handle: a.Handle, DID: a.DID, Password: a.Password})
	}
	for l, s := range map[net.Listener]*http.Server{
		plain:   {Handler: pds.Handler(), ReadHeaderTimeout: time.Minute},
		counted: {Handler: p.count(pds.Handler()), ConnState: p.connState, ReadHeaderTimeout: time.Minute},
	} {
		go func() { _ = s.Serve(l) }() // it ends with Close
		b.Cleanup(func() { _ = s.Close() })
	}
	b.Cleanup(func() { _ = pds.Close() })
	return p
}

func listenLocal(b *testing.B) net.Listener {
	b.Helper()
	l, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// connState counts the connections that carry requests; a stream's is taken over.
func (p *countedPDS) connState(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		raise(&p.mostConns, p.conns.Add(1))
	case http.StateClosed, http.StateHijacked:
		p.conns.Add(-1)
	case http.StateActive, http.StateIdle:
	}
}

func (p *countedPDS) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "subscribeRepos") {
			raise(&p.mostStreams, p.streams.Add(1))
			defer p.streams.Add(-1)
		} else {
			p.requests.Add(1)
		}
		next.ServeHTTP(w, r)
	})
}

func raise(most *atomic.Int64, now int64) {
	for {
		old := most.Load()
		if now <= old || most.CompareAndSwap(old, now) {
			return
		}
	}
}
