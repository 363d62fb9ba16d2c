package kcp

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testbinary"
	"socialweb.computer/infra-apiserver/internal/testdev"
)

// logs is everything that the servers of this process have logged.
var logs testbinary.Buffer

// shared is what all tests use.
var shared struct {
	tb  *testbinary.TB
	env func() *env
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

func TestMain(m *testing.M) { testdev.Main(binary{m}) }

// binary runs the tests of the package and ends what they share.
type binary struct{ *testing.M }

// Run implements goleak.TestingM.
func (b binary) Run() (code int) {
	flag.Parse()
	// TestManyWorkspaces is for many at once.
	if err := flag.Set("test.parallel", "32"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "infra-kcp-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	testbinary.CaptureLog(&logs, "2")
	shared.tb = testbinary.New(dir)
	shared.env = sync.OnceValue(func() *env { return newEnv(shared.tb) })
	defer func() {
		shared.tb.Cleanups()
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		if faults := logFaults(); len(faults) > 0 {
			fmt.Fprintln(os.Stderr, "FAIL: the server logged", strings.Join(faults, "; "))
			code = 1
		}
	}()
	return b.M.Run()
}

// logFaults are the things that no log may hold.
func logFaults() (out []string) {
	text := logs.Bytes()
	if file := os.Getenv("KCP_TEST_LOG"); file != "" {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	secrets.Lock()
	defer secrets.Unlock()
	for i, w := range secrets.words {
		if bytes.Contains(text, []byte(w)) {
			out = append(out, fmt.Sprintf("secret %d", i))
		}
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "SHOULD NOT HAPPEN") || strings.Contains(line, "Observed a panic") {
			out = append(out, line)
		}
	}
	return out
}
