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
	"socialweb.computer/infra-apiserver/internal/testbinary"
)

// logs is everything that the servers of this process have logged.
var logs testbinary.Buffer

// shared is what all tests use: one etcd, in which every server has a prefix of
// its own, one directory of certificates, and the reference PDS.
var shared struct {
	dir  string
	etcd *dev.Etcd
	tb   *testbinary.TB
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
	testbinary.CaptureLog(&logs, "4")
	dir, err := os.MkdirTemp("", "infra-api-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared.dir, shared.tb = dir, testbinary.New(dir)
	// Spans are exported soon after they end.
	if err := os.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		shared.tb.Cleanups()
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
		if err := os.WriteFile(filepath.Clean(file), logs.Bytes(), 0o600); err != nil {
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
	text := logs.Bytes()
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
