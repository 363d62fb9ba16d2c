package api

import (
	"os"
	"path/filepath"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testotlp"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

// newCollector starts a collector. It ends with the test.
func newCollector(t *testing.T) *testotlp.Collector {
	t.Helper()
	c, err := testotlp.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// traced makes a server that exports to c, by the generic options.
func traced(t *testing.T, c *testotlp.Collector, perMillion int) func(*apiserver.Options) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tracing.yaml")
	if err := os.WriteFile(path, []byte(c.Config(perMillion)), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(o *apiserver.Options) { o.Recommended.Traces.ConfigFile = path }
}
