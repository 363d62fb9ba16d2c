//go:build e2e

package controlplane

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/test/bench/measure"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

var (
	reportPath = flag.String("report", "", "file to write the results to, as Markdown, if all is measured")
	objects    = flag.Int("objects", 10000, "objects of each side; the lists of a tenth of them are measured too")
	watchers   = flag.Int("watchers", 1000, "watchers of each side")
	events     = flag.Int("events", 50, "changes that each watcher is told of")
	times      = flag.Int("times", 200, "how often single requests are measured")
)

var plane *harness.Plane

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.list").Value.String() != "" {
		os.Exit(m.Run())
	}
	machine = measure.Machine()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run returns the tests' exit code. An error is what went wrong around them.
func run(m *testing.M) (code int, err error) {
	// One replica, so that its memory is all of ours. pprof collects the garbage before
	// memory is measured.
	plane, err = harness.Start(context.Background(), harness.Options{
		Replicas: 1, NoControllerManager: true, APIServerFlags: []string{"--profiling=true"},
	})
	if err != nil {
		return 1, err
	}
	defer func() {
		err = errors.Join(err, plane.Stop())
		if code == 0 && err == nil {
			err = os.RemoveAll(plane.Dir())
		} else {
			fmt.Fprintf(os.Stderr, "logs of the control plane: %s/*.log\n", plane.Dir())
		}
	}()
	if code = m.Run(); code != 0 || *reportPath == "" || !measure.Whole() {
		return code, nil
	}
	return code, measure.Write(*reportPath, section())
}

// machine that it is measured on.
var machine string

// rows of the run, in the order in which they were measured.
var rows []measure.Row

func add(b *testing.B, r measure.Row) {
	b.Helper()
	rows = append(rows, r)
	r.Log(b)
}

func section() *measure.Section {
	return &measure.Section{
		Title: measure.AgainstCRD,
		Intro: fmt.Sprintf(`Measured on %s; its cores etcd, kube-apiserver, the reference PDS, one replica of ours and
the measuring client share. Ours is asked through the aggregator. The CRD has our own OpenAPI schema and is on the same
kube-apiserver and etcd; its objects are copies of ours, %s each in a list. Answers are read to their end and not decoded, which would
cost the same on either side. Lists are gzipped, as client-go asks for it. Etcd doesn't wait for the disk. What is said of
where the time goes are means of the servers' own metrics; CPU is that of the processes during the requests.`,
			machine, kib(float64(objectSize))),
		Rows:  rows,
		Notes: missed(),
	}
}

// missed says plainly which goals are missed.
func missed() string {
	var out strings.Builder
	for _, r := range rows {
		if r.Missed() {
			fmt.Fprintf(&out, "\n- %s: %.2f, the goal is %s", r.What, r.Ratio, r.Goal)
		}
	}
	if out.Len() == 0 {
		return "Every goal of this section is met."
	}
	return "Missed goals:\n" + out.String()
}
