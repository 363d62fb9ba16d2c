package startup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	testingclock "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/testleak"
	"socialweb.computer/infra-apiserver/internal/testport"
)

func TestMain(m *testing.M) { testleak.Main(m) }

func codecs() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{})
	return serializer.NewCodecFactory(scheme)
}

// waiting runs a gate with a clock that the test moves.
type waiting struct {
	gate  *Gate
	clock *testingclock.FakeClock
	log   ktesting.Buffer
	done  chan error
}

func wait(t *testing.T, needs ...Need) *waiting {
	t.Helper()
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	clk := testingclock.NewFakeClock(time.Now())
	w := &waiting{gate: NewGate(clk), clock: clk, done: make(chan error, 1), log: logger.GetSink().(ktesting.Underlier).GetBuffer()}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.done <- w.gate.Wait(ctx, needs...)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return w
}

// round lets the gate look once more.
func (w *waiting) round(t *testing.T, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !w.clock.HasWaiters(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the gate doesn't wait")
		}
	}
	w.clock.Step(d)
}

func (w *waiting) ask(t *testing.T, path string) (int, string) {
	t.Helper()
	r := httptest.NewRecorder()
	w.gate.Handler(codecs()).ServeHTTP(r, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return r.Code, r.Body.String()
}

func TestGate(t *testing.T) {
	var first, second atomic.Pointer[error]
	set := func(p *atomic.Pointer[error], err error) { p.Store(&err) }
	set(&first, fmt.Errorf("look: %w", PublicError("it can't be reached").Because(errors.New("dial tcp 10.0.0.1: refused"))))
	set(&second, errors.Join(PublicError("lacks this"), PublicError("lacks that")))
	get := func(p *atomic.Pointer[error]) func(context.Context) error {
		return func(context.Context) error { return *p.Load() }
	}
	w := wait(t, Need{"etcd", get(&first)}, Need{"rights", get(&second)})
	w.round(t, 0)
	code, body := w.ask(t, "/readyz")
	want := "[-]etcd failed: it can't be reached\n[-]rights failed: lacks this; lacks that\nreadyz check failed\n\n"
	if code != http.StatusInternalServerError || body != want {
		t.Errorf("readyz: %d %q", code, body)
	}
	for path, want := range map[string]string{
		"/livez": "ok", "/livez?exclude=etcd": "ok", "/livez/etcd": "ok", "/healthz": "etcd failed", "/readyz?verbose": "rights failed",
		"/apis/socialweb.computer/v1alpha1": `"reason":"ServiceUnavailable","code":503`,
	} {
		code, body := w.ask(t, path)
		if !strings.Contains(body, want) || strings.Contains(body, "10.0.0.1") {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	set(&first, errors.New("dial tcp 10.0.0.1: refused"))
	w.round(t, longestPause)
	w.round(t, 0)
	if _, body := w.ask(t, "/readyz"); !strings.Contains(body, "[-]etcd failed: not there yet, the log says why") {
		t.Errorf("readyz: %q", body)
	}
	set(&first, nil)
	w.round(t, longestPause)
	w.round(t, 0)
	if _, body := w.ask(t, "/readyz"); strings.Contains(body, "etcd") || !strings.Contains(body, "rights") {
		t.Errorf("readyz: %q", body)
	}
	set(&second, nil)
	w.round(t, longestPause)
	if err := <-w.done; err != nil {
		t.Error(err)
	}
}

// The reason is logged once, and again after ever longer times; another reason at
// once.
func TestGateRemindsSeldom(t *testing.T) {
	var text atomic.Value
	text.Store("first")
	w := wait(t, Need{"it", func(context.Context) error { return errors.New(text.Load().(string)) }})
	logged := func(want int) {
		t.Helper()
		w.round(t, 0)
		if n := strings.Count(w.log.String(), "Waiting"); n != want {
			t.Fatalf("logged %d times, want %d:\n%s", n, want, w.log.String())
		}
	}
	logged(1)
	for range 12 {
		w.round(t, longestPause)
	}
	logged(3) // after 10 and 30 seconds of 60
	text.Store("second")
	w.round(t, longestPause)
	logged(4)
	for range 2 * int(time.Hour/longestPause) {
		w.round(t, longestPause)
	}
	w.round(t, 0)
	if n := strings.Count(w.log.String(), "Waiting"); n < 20 || n > 40 {
		t.Errorf("logged %d times in two hours", n)
	}
}

func TestGateEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := NewGate(testingclock.NewFakeClock(time.Now())).Wait(ctx, Need{"it", func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// cut tells whether net/http has cut a request that came while it shut down, or a
// connection on which none had come for five seconds.
func cut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		err != nil && strings.Contains(err.Error(), "server closed idle connection")
}

// TestPortChangesHands: while one server takes over from the other, nobody is
// refused, and the port closes with the last.
func TestPortChangesHands(t *testing.T) {
	l, err := testport.Listen() // nobody else is there when it is closed
	if err != nil {
		t.Fatal(err)
	}
	port := NewPort(l.(*net.TCPListener))
	serve := func(listen func() (net.Listener, error), text string) (stop func()) {
		l, err := listen()
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })}
		done := make(chan error)
		go func() { done <- s.Serve(l) }()
		return func() {
			if err := s.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			if err := <-done; !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}
	}
	stop := serve(port.Turn, "waiting")
	var seen sync.Map
	var askers sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for range 4 {
		askers.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			for ctx.Err() == nil {
				resp, err := client.Get("http://" + l.Addr().String())
				if cut(err) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				b, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				seen.Store(string(b), true)
			}
		})
	}
	until := func(text string) {
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if _, ok := seen.Load(text); ok {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("nobody saw %q", text)
			}
		}
	}
	for i := range 5 {
		until(map[bool]string{true: "waiting", false: fmt.Sprint(i - 1)}[i == 0])
		stop()
		stop = serve(port.Turn, fmt.Sprint(i))
	}
	until("4")
	stop()
	stop = serve(port.Last, "last")
	until("last")
	cancel()
	askers.Wait()
	stop()
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the port is open after the last server's end")
	}
}
