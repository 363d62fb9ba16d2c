package testproxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"socialweb.computer/infra-apiserver/internal/testleak"
)

func TestMain(m *testing.M) { testleak.Main(m) }

const record = "com.atproto.repo.getRecord"

// backend is a PDS in a few lines. hits counts what reached it.
type backend struct {
	hits atomic.Int32
	// events are sent to every stream.
	events chan string
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.hits.Add(1)
	if r.URL.Path != "/xrpc/"+stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"cid":"bafyreal","value":{"description":"true","n":12345678901234567}}`)
		return
	}
	c, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	var once sync.Once
	gone := make(chan struct{})
	go func() {
		defer once.Do(func() { close(gone) })
		_, _, _ = c.ReadMessage()
	}()
	for {
		select {
		case <-gone:
			return
		case e, ok := <-b.events:
			if !ok || c.WriteMessage(websocket.BinaryMessage, []byte(e)) != nil {
				return
			}
		}
	}
}

func start(t *testing.T) (*backend, *Proxy, *http.Client) {
	t.Helper()
	b := &backend{events: make(chan string)}
	s := httptest.NewServer(b)
	t.Cleanup(s.Close)
	p, err := New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return b, p, &http.Client{Transport: transport}
}

// call answers "STATUS body" or "error".
func call(ctx context.Context, t *testing.T, c *http.Client, p *Proxy, method, token string) (string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL()+"/xrpc/"+method, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		return "error", nil
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "error", nil
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, body), resp.Header
}

// Each fault does what it says, reaches the PDS or doesn't, spares the other
// methods, and is over after Clear.
func TestFaults(t *testing.T) {
	const good = `200 {"cid":"bafyreal","value":{"description":"true","n":12345678901234567}}`
	for _, c := range []struct {
		fault   Fault
		want    string // how the answer begins
		lacks   string
		reaches bool
	}{
		{Fault{Kind: Refused}, "error", "", false},
		{Fault{Kind: Hung}, "error", "", false},
		{Fault{Kind: Slow, Delay: time.Millisecond}, good, "", true},
		{Fault{Kind: Status500}, "500 {", "", false},
		{Fault{Kind: Status429}, "429 {", "", false},
		{Fault{Kind: NotFound}, "404 ", "", false},
		{Fault{Kind: Garbage}, "200 <html>", "", false},
		{Fault{Kind: Truncated}, "error", "", true},
		{Fault{Kind: LostAnswer}, "error", "", true},
		{Fault{Kind: WrongCID}, "200 {", "bafyreal", true},
		{Fault{Kind: AlteredRecord}, "200 {", `"true"`, true},
	} {
		t.Run(c.fault.Kind.String(), func(t *testing.T) {
			b, p, client := start(t)
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			if c.fault.Kind == Hung {
				c.fault.Before = giveUp // the client's patience ends, once its request has come
			}
			p.Set(c.fault, record)
			got, h := call(ctx, t, client, p, record, "")
			if !strings.HasPrefix(got, c.want) || c.lacks != "" && strings.Contains(got, c.lacks) {
				t.Errorf("answer %q", got)
			}
			if c.fault.Kind == WrongCID && !strings.Contains(got, "12345678901234567") {
				t.Errorf("numbers changed: %q", got)
			}
			if c.fault.Kind == Status429 && (h.Get("Retry-After") != "60" || h.Get("RateLimit-Reset") == "") {
				t.Errorf("headers %v", h)
			}
			if (b.hits.Load() > 0) != c.reaches {
				t.Errorf("the PDS had %d requests", b.hits.Load())
			}
			if got, _ := call(t.Context(), t, client, p, "other.method", ""); got != good {
				t.Errorf("another method: %q", got)
			}
			p.Clear()
			if got, _ := call(t.Context(), t, client, p, record, ""); got != good {
				t.Errorf("after the fault: %q", got)
			}
			if p.Calls(record) != 2 {
				t.Errorf("%d calls counted", p.Calls(record))
			}
		})
	}
}

func TestTimesAndBefore(t *testing.T) {
	_, p, client := start(t)
	before := 0
	p.Set(Fault{Kind: Status500, Times: 2, Before: func() { before++ }})
	for i, want := range []string{"500", "500", "200"} {
		if got, _ := call(t.Context(), t, client, p, record, ""); !strings.HasPrefix(got, want) {
			t.Errorf("request %d: %q", i, got)
		}
	}
	if before != 2 {
		t.Errorf("Before was called %d times", before)
	}
}

// Tokens of before are refused, also after Clear; later ones pass.
func TestRevoked(t *testing.T) {
	_, p, client := start(t)
	for _, step := range []struct{ token, want string }{
		{"old", "200"}, {"", "200"}, {"revoke", ""}, {"old", "400"}, {"new", "200"}, {"clear", ""}, {"old", "400"},
	} {
		switch step.token {
		case "revoke":
			p.Set(Fault{Kind: Revoked})
		case "clear":
			p.Clear()
		default:
			if got, _ := call(t.Context(), t, client, p, record, step.token); !strings.HasPrefix(got, step.want) {
				t.Errorf("%q: %q", step.token, got)
			}
		}
	}
	if got := p.Tokens(); len(got) != 2 {
		t.Errorf("tokens %q", got)
	}
}

// Without methods nothing listens, streams included, and the same address
// serves again.
func TestRefusedAltogether(t *testing.T) {
	_, p, client := start(t)
	s := subscribe(t, p)
	p.Set(Fault{Kind: Refused})
	if _, _, err := s.ReadMessage(); err == nil {
		t.Error("the stream went on")
	}
	if c, err := net.Dial("tcp4", strings.TrimPrefix(p.URL(), "http://")); err == nil {
		_ = c.Close()
		t.Error("something listens")
	}
	p.Clear()
	if got, _ := call(t.Context(), t, client, p, record, ""); !strings.HasPrefix(got, "200") {
		t.Errorf("afterwards: %q", got)
	}
}

func TestStreams(t *testing.T) {
	b, p, _ := start(t)
	s := subscribe(t, p)
	want := func(text string) {
		t.Helper()
		if _, data, err := s.ReadMessage(); err != nil || string(data) != text {
			t.Fatalf("%q, %v; want %q", data, err, text)
		}
	}
	b.events <- "a"
	want("a")

	p.SetStreams(StreamStalled)
	b.events <- "b"
	pong := make(chan struct{})
	s.SetPongHandler(func(string) error { close(pong); return nil })
	if err := s.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		_, data, _ := s.ReadMessage()
		read <- string(data)
	}()
	<-pong
	select {
	case text := <-read:
		t.Fatalf("a stalled stream delivered %q", text)
	default:
	}
	p.SetStreams(StreamPass)
	if text := <-read; text != "b" {
		t.Errorf("held back: %q", text)
	}

	p.SetStreams(StreamCut)
	if _, _, err := s.ReadMessage(); err == nil {
		t.Error("the stream was not cut")
	}
	if c, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(p.URL(), "http")+"/xrpc/"+stream, nil); err == nil {
		_, _ = c.Close(), resp.Body.Close()
		t.Error("a new stream was accepted")
	}
}

func subscribe(t *testing.T, p *Proxy) *websocket.Conn {
	t.Helper()
	c, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(p.URL(), "http")+"/xrpc/"+stream, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	t.Cleanup(func() { _ = c.Close() })
	return c
}
