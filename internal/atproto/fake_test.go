package atproto

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/bluesky-social/indigo/atproto/atcrypto"

	"socialweb.computer/infra-apiserver/internal/testwait"
)

const testDID = "did:plc:test"

var testKey = Key{Collection: "computer.socialweb.infra", RKey: "a"}

// fakePDS answers XRPC methods by name and counts the calls.
type fakePDS struct {
	*httptest.Server

	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
	calls    map[string]int
}

func newFakePDS(t testing.TB) *fakePDS {
	t.Helper()
	f := &fakePDS{handlers: map[string]http.HandlerFunc{}, calls: map[string]int{}}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := strings.TrimPrefix(r.URL.Path, "/xrpc/")
		f.mu.Lock()
		f.calls[method]++
		h := f.handlers[method]
		f.mu.Unlock()
		if h == nil {
			reply(w, http.StatusNotImplemented, map[string]any{"error": "MethodNotImplemented"})
			return
		}
		h(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakePDS) on(method string, h http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handlers[method] = h
}

// say makes the method always answer this.
func (f *fakePDS) say(method string, status int, body any) {
	f.on(method, func(w http.ResponseWriter, _ *http.Request) { reply(w, status, body) })
}

func (f *fakePDS) count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func xrpcError(name, message string) map[string]any {
	return map[string]any{"error": name, "message": message}
}

// config of a client of f, which waits for as long as a machine may stand still.
func (f *fakePDS) config(t testing.TB) Config {
	t.Helper()
	transport := NewTransport(true)
	transport.DialContext = new(net.Dialer).DialContext
	t.Cleanup(transport.CloseIdleConnections)
	return Config{PDS: f.URL, DID: testDID, HTTP: &http.Client{Transport: transport, CheckRedirect: noRedirect}, Keys: noKeys{}, Timeout: testwait.Patience}
}

func (f *fakePDS) client(t testing.TB, change func(*Config)) *Client {
	t.Helper()
	cfg := f.config(t)
	cfg.Auth = staticAuth("token")
	if change != nil {
		change(&cfg)
	}
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// staticAuth is a token that can't be renewed.
type staticAuth string

func (s staticAuth) Authorize(_ context.Context, req *http.Request) (uint64, error) {
	req.Header.Set("Authorization", "Bearer "+string(s))
	return 1, nil
}

func (s staticAuth) Renew(context.Context, uint64) error { return ErrUnauthorized }

// noKeys knows no key.
type noKeys struct{}

func (noKeys) SigningKey(context.Context, string, bool) (atcrypto.PublicKey, error) {
	return nil, ErrUnavailable
}

// oneKey is everybody's key.
type oneKey struct{ atcrypto.PublicKey }

func (k oneKey) SigningKey(context.Context, string, bool) (atcrypto.PublicKey, error) {
	return k.PublicKey, nil
}

func testValue(description string) map[string]any {
	return map[string]any{"$type": testKey.Collection, "description": description}
}
