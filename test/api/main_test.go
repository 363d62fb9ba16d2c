package api

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/dev"
)

// logs is everything that the servers of this process have logged.
var logs lockedBuffer

// shared is what all tests use: one etcd, in which every server has a prefix of
// its own, one directory of certificates, and the reference PDS.
var shared struct {
	dir  string
	etcd *dev.Etcd
	tb   *binaryTB
}

// secrets are the strings that must not show in any log.
var secrets struct {
	sync.Mutex
	words []string
}

func keepSecret(words ...string) {
	secrets.Lock()
	defer secrets.Unlock()
	secrets.words = append(secrets.words, words...)
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	flag.Parse()
	// Most tests wait most of the time.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	logging := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(logging)
	_ = logging.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL", "-v=4"})
	klog.SetOutput(&logs)
	dir, err := os.MkdirTemp("", "infra-api-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared.dir, shared.tb = dir, &binaryTB{dir: dir}
	// Spans are exported soon after they end.
	if err := os.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		shared.tb.cleanup()
		if shared.etcd != nil {
			if err := shared.etcd.Close(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	code = m.Run()
	klog.Flush()
	if file := os.Getenv("API_TEST_LOG"); file != "" {
		if err := os.WriteFile(filepath.Clean(file), logs.bytes(), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	faults := append(logFaults(), secretsIn("/metrics", metricsText())...)
	if len(faults) > 0 {
		fmt.Fprintln(os.Stderr, "FAIL: the servers told", strings.Join(faults, "; "))
		return 1
	}
	return code
}

// metricsText is what /metrics of any of the servers has at the end.
func metricsText() []byte {
	w := httptest.NewRecorder()
	legacyregistry.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	return w.Body.Bytes()
}

// secretsIn are the secrets that a text holds.
func secretsIn(where string, text []byte) (out []string) {
	secrets.Lock()
	defer secrets.Unlock()
	for i, w := range secrets.words {
		if w != "" && bytes.Contains(text, []byte(w)) {
			out = append(out, fmt.Sprintf("secret %d in %s", i, where))
		}
	}
	return out
}

// logFaults are the things that no log may hold.
func logFaults() []string {
	text := logs.bytes()
	out := secretsIn("the log", text)
	for _, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, "SHOULD NOT HAPPEN") || strings.Contains(line, "Observed a panic") || strings.Contains(line, "DATA RACE") {
			out = append(out, line)
		}
	}
	return out
}

// etcdEndpoint starts the shared etcd at its first call.
func etcdEndpoint(t *testing.T) string {
	t.Helper()
	etcdOnce.Do(func() {
		shared.etcd, errEtcd = dev.StartEtcd(t.Context(), filepath.Join(shared.dir, "etcd"))
	})
	if errEtcd != nil {
		t.Fatal(errEtcd)
	}
	return shared.etcd.Endpoint()
}

var (
	etcdOnce sync.Once
	errEtcd  error
)

// lockedBuffer is a buffer that many goroutines may write to.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf.Bytes())
}

// binaryTB is a testing.TB whose cleanups run at the end of the test binary, for
// what all tests share. It fails by panicking.
type binaryTB struct {
	testing.TB
	dir  string
	mu   sync.Mutex
	done []func()
}

func (b *binaryTB) Helper() {}

func (b *binaryTB) Cleanup(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = append(b.done, f)
}

func (b *binaryTB) TempDir() string {
	dir, err := os.MkdirTemp(b.dir, "shared-")
	if err != nil {
		panic(err)
	}
	return dir
}

func (b *binaryTB) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (b *binaryTB) Errorf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (b *binaryTB) cleanup() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(b.done) - 1; i >= 0; i-- {
		b.done[i]()
	}
}
