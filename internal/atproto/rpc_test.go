package atproto

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/testport"
)

const (
	putMethod    = "com.atproto.repo.putRecord"
	latestMethod = "com.atproto.sync.getLatestCommit"
)

func put(c *Client) error {
	_, err := c.PutRecord(context.Background(), testKey, testValue("A"), Swap{})
	return err
}

func get(c *Client) error {
	_, err := c.LatestCommit(context.Background())
	return err
}

// hangUp closes the connection after the request was read, without an answer.
func hangUp(w http.ResponseWriter, r *http.Request) {
	buf := make([]byte, 1<<20)
	_, _ = r.Body.Read(buf)
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// truncate promises more than it sends.
func truncate(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte(`{"cid":`))
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// What a client must conclude from a call that failed on the way. Nothing else
// decides whether the storage may tell its caller that a write didn't happen.
func TestOutcomeOfFailedCalls(t *testing.T) {
	for name, tc := range map[string]struct {
		handler     http.HandlerFunc
		read, write error
		reads       int
	}{
		"hang-up":    {hangUp, ErrUnavailable, ErrUnknownOutcome, 3},
		"truncated":  {truncate, ErrUnavailable, ErrUnknownOutcome, 3},
		"500":        {status(500), ErrUnavailable, ErrUnknownOutcome, 3},
		"502":        {status(502), ErrUnavailable, ErrUnknownOutcome, 3},
		"503":        {status(503), ErrUnavailable, ErrUnknownOutcome, 3},
		"504":        {status(504), ErrUnavailable, ErrUnknownOutcome, 3},
		"404":        {status(404), ErrUnavailable, ErrUnavailable, 1},
		"302":        {status(302), ErrUnavailable, ErrUnavailable, 1},
		"429":        {status(429), ErrRateLimited, ErrRateLimited, 1},
		"not json":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, ErrBadData, ErrUnknownOutcome, 1},
		"no content": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }, ErrBadData, ErrUnknownOutcome, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakePDS(t)
			f.on(putMethod, tc.handler)
			f.on(latestMethod, tc.handler)
			c := f.client(t, nil)
			if err := put(c); !errors.Is(err, tc.write) {
				t.Errorf("write: %v, want %v", err, tc.write)
			}
			if n := f.count(putMethod); n != 1 {
				t.Errorf("the write was sent %d times", n)
			}
			if err := get(c); !errors.Is(err, tc.read) || errors.Is(err, ErrUnknownOutcome) {
				t.Errorf("read: %v, want %v", err, tc.read)
			}
			if n := f.count(latestMethod); n != tc.reads {
				t.Errorf("the read was sent %d times, want %d", n, tc.reads)
			}
		})
	}
}

func TestRefusedConnectionIsUnavailable(t *testing.T) {
	nobody, err := testport.Free() // who had just ended might be followed by another
	if err != nil {
		t.Fatal(err)
	}
	c := newFakePDS(t).client(t, func(cfg *Config) { cfg.PDS = "http://" + nobody })
	for _, err := range []error{put(c), get(c)} {
		if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("%v, want %v", err, ErrUnavailable)
		}
	}
}

// A server that never answers: the write may still be applied.
func TestTimeouts(t *testing.T) {
	if _, err := timeOut(t, putMethod, put); !errors.Is(err, ErrUnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("write: %v", err)
	}
	sent, err := timeOut(t, latestMethod, get)
	if !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	if sent != 1 {
		t.Errorf("a read that used up its time was sent %d times", sent)
	}
}

// timeOut makes a call that reaches a server and isn't answered, in a time that is
// enough for the former. It returns the call's error, and how often it was sent.
func timeOut(t *testing.T, method string, do func(*Client) error) (sent int, err error) {
	t.Helper()
	for timeout := 50 * time.Millisecond; timeout < time.Minute; timeout *= 2 {
		f := newFakePDS(t)
		f.on(method, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = r.Body.Read(make([]byte, 1<<20)) // so that the server notices the client's leaving
			<-r.Context().Done()
		})
		err = do(f.client(t, func(cfg *Config) { cfg.Timeout = timeout }))
		if sent = f.count(method); sent > 0 {
			return sent, err
		}
	}
	t.Fatalf("%s never came to the server: %v", method, err)
	return 0, err
}

// A server that accepts and never speaks TLS can't have taken the request.
func TestUnansweredHandshakeOfTLSIsUnavailable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	f := newFakePDS(t)
	c := f.client(t, func(cfg *Config) {
		cfg.PDS = "https://" + l.Addr().String()
		cfg.Timeout = 50 * time.Millisecond
	})
	if err := put(c); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("the headers were never sent: %v", err)
	}
}

func TestReadRecoversFromAShortFailure(t *testing.T) {
	f := newFakePDS(t)
	f.on(latestMethod, func(w http.ResponseWriter, r *http.Request) {
		if f.count(latestMethod) < 3 {
			hangUp(w, r)
			return
		}
		reply(w, 200, map[string]any{"cid": "bafyreidfayvfuwqa7qlnopdjiqrxzs6blmoeu4rujcjtnci5beludirz2a", "rev": "3kabcdefghi22"})
	})
	if err := get(f.client(t, nil)); err != nil {
		t.Error(err)
	}
}

func TestCallerGivingUpEndsTheCall(t *testing.T) {
	f := newFakePDS(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.on(latestMethod, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if _, err := f.client(t, nil).LatestCommit(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if n := f.count(latestMethod); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

func TestAnswerOverTheLimitIsBadData(t *testing.T) {
	f := newFakePDS(t)
	f.say("com.atproto.x.y", 200, map[string]any{"x": strings.Repeat("x", 1000)})
	c := f.client(t, nil)
	var out map[string]any
	for limit, want := range map[int64]error{100: ErrBadData, 1008: ErrBadData, 1009: nil, 5000: nil} {
		err := c.rpc.call(t.Context(), &call{method: "com.atproto.x.y", out: &out, limit: limit})
		if !errors.Is(err, want) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// A redirected write could be applied twice, or elsewhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	other := newFakePDS(t)
	f := newFakePDS(t)
	f.on(putMethod, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	followsAll := &http.Client{}
	defer followsAll.CloseIdleConnections()
	for _, err := range []error{put(f.client(t, nil)), put(f.client(t, func(cfg *Config) { cfg.HTTP = followsAll }))} {
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v", err)
		}
	}
	if n := other.count(putMethod); n != 0 {
		t.Errorf("the redirect was followed")
	}
}

func TestObserveIsToldOfEveryRequest(t *testing.T) {
	f := newFakePDS(t)
	f.say(putMethod, 400, xrpcError("InvalidSwap", ""))
	f.on(latestMethod, hangUp)
	var got []string
	c := f.client(t, func(cfg *Config) {
		cfg.Observe = func(method string, status int, took time.Duration) {
			got = append(got, fmt.Sprint(method, " ", status, " ", took >= 0))
		}
	})
	if put(c) == nil || get(c) == nil {
		t.Error("no error")
	}
	want := []string{putMethod + " 400 true", latestMethod + " 0 true", latestMethod + " 0 true", latestMethod + " 0 true"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestErrorsHoldNoSecrets(t *testing.T) {
	f := newFakePDS(t)
	f.say(putMethod, 401, xrpcError("AuthMissing", "no"))
	f.on("com.atproto.server.createSession", func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 1000)
		n, _ := r.Body.Read(b)
		reply(w, 401, xrpcError("AuthenticationRequired", "you sent "+string(b[:n])))
	})
	creds := Credentials{Identifier: "alice.test", Password: "hunter2"}
	_, err := Login(t.Context(), f.URL, creds, LoginOptions{HTTP: f.config(t).HTTP})
	if !errors.Is(err, ErrUnauthorized) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("login: %v", err)
	}
	err = put(f.client(t, func(cfg *Config) { cfg.Auth = staticAuth("sesame") }))
	if !errors.Is(err, ErrUnauthorized) || strings.Contains(err.Error(), "sesame") {
		t.Errorf("put: %v", err)
	}
}
