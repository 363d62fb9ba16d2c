package bench

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"socialweb.computer/infra-apiserver/test/bench/measure"
)

var reportPath = flag.String("report", "", "file to write the results to, as Markdown, if all is measured")

// machine that it is measured on.
var machine string

// results of the run, in the order in which they were measured.
var results []measure.Row

// result is one row of the report.
type result struct {
	what, ours, theirs, goal, where string
}

func TestMain(m *testing.M) {
	flag.Parse()
	machine = measure.Machine()
	code := m.Run()
	cleanUp()
	if code == 0 && *reportPath != "" && measure.Whole() {
		if err := writeReport(*reportPath); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// add a row, and its ratio to go's own output.
func add(b *testing.B, r result, ratio float64) {
	b.Helper()
	row := measure.Row{What: r.what, Ours: r.ours, Theirs: r.theirs, Ratio: ratio, Goal: r.goal, Where: r.where}
	results = append(results, row)
	row.Log(b)
}

func writeReport(path string) error {
	if err := measure.Write(path, &measure.Section{
		Title: measure.Deployments,
		Intro: fmt.Sprintf("Measured on %s: the controller in `infra-apiserver dev --pds`, over the reference PDS.\nRecords of %d contracts each, all requested, are put by another client at once, and a fulfiller holds each contract\nas soon as it is asked for. %d deployments are compared with %d.",
			machine, contractsEach, manyDeployments, fewDeployments),
		Rows: deployments,
	}); err != nil {
		return err
	}
	if err := measure.Write(path, workspacesSection()); err != nil {
		return err
	}
	return measure.Write(path, &measure.Section{
		Title: measure.AgainstPDS,
		Intro: fmt.Sprintf("Measured on %s, reference PDS (npm `@atproto/pds`) on loopback with one account, server\n`infra-apiserver dev --pds`.",
			machine),
		Rows: results,
	})
}
