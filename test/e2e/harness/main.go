package harness

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

// Main is the TestMain of a package of cases: it starts a plane, runs the tests
// with it and ends everything. When a test fails, the logs stay.
func Main(m *testing.M, plane **Plane, o Options) {
	flag.Parse()
	if flag.Lookup("test.list").Value.String() != "" {
		os.Exit(m.Run())
	}
	begin := time.Now()
	p, err := Start(context.Background(), o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "the control plane did not start: %v\n", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "control plane up after %s\n", time.Since(begin).Round(time.Millisecond))
	*plane = p
	os.Exit(p.finish(m.Run()))
}

// finish ends the plane and returns the exit code.
func (p *Plane) finish(code int) int {
	if err := p.Stop(); err != nil {
		fmt.Fprintf(os.Stderr, "the control plane did not end well: %v\n", err)
		code = 1
	}
	if code != 0 {
		fmt.Fprintf(os.Stderr, "logs of the control plane: %s/*.log\n", p.dir)
		return code
	}
	if err := os.RemoveAll(p.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
