package measure_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"socialweb.computer/infra-apiserver/test/bench/measure"
)

func TestTimes(t *testing.T) {
	t.Parallel()
	times := measure.Times{5, 1, 4, 2, 3}
	require.EqualValues(t, 3, times.Median())
	require.EqualValues(t, 5, times.At(0.95))
	require.EqualValues(t, 3, times.Mean())
	require.Zero(t, measure.Times{}.Mean())
	require.EqualValues(t, 5, times[0], "the order stays")
	require.Equal(t, 1230*time.Millisecond, measure.Round(1234*time.Millisecond))
	require.Equal(t, 12300*time.Microsecond, measure.Round(12345*time.Microsecond))
}

// Every side is called as often, and warm calls don't count.
func TestTurns(t *testing.T) {
	t.Parallel()
	var calls []string
	side := func(name string, d time.Duration) measure.Side {
		return func(context.Context, int) (time.Duration, error) {
			calls = append(calls, name)
			return d, nil
		}
	}
	var got []measure.Times
	testing.Benchmark(func(b *testing.B) {
		calls = nil
		got = measure.Turns(b, 1, 3, side("a", 1), side("b", 2))
	})
	require.Equal(t, []measure.Times{{1, 1, 1}, {2, 2, 2}}, got)
	require.Equal(t, "abbaabba", strings.Join(calls, ""))
}

func TestWriteKeepsOtherSections(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report.md")
	row := measure.Row{What: "GET", Ours: "2ms", Theirs: "1ms", Ratio: 2, Goal: "≤ 1.3 (so)", Where: "the network"}
	crd := &measure.Section{Title: measure.AgainstCRD, Intro: "Second.", Rows: []measure.Row{row}, Notes: "A note."}
	require.NoError(t, measure.Write(path, crd))
	row.Ratio, row.Goal = 1.304, "≤ 1.3"
	require.NoError(t, measure.Write(path, &measure.Section{Title: measure.AgainstPDS, Intro: "First.", Rows: []measure.Row{row}}))
	both := read(t, path)
	require.Regexp(t, `(?s)^# Benchmarks\n.*## Against the PDS\n\nFirst\..*≤ 1\.3: met.*## Against a CRD.*Second\..*\| 2\.00 \| ≤ 1\.3 \(so\): \*\*missed\*\* \|.*A note\.\n$`, both)

	require.NoError(t, measure.Write(path, crd))
	require.Equal(t, both, read(t, path), "writing the same again changes nothing")
	crd.Intro = "Again."
	require.NoError(t, measure.Write(path, crd))
	require.Equal(t, strings.Replace(both, "Second.", "Again.", 1), read(t, path))
	require.Error(t, measure.Write(path, &measure.Section{Title: "Other"}))
}

func TestMissed(t *testing.T) {
	t.Parallel()
	require.False(t, measure.Row{Ratio: 9, Goal: "—"}.Missed())
	require.False(t, measure.Row{Ratio: 0.5, Goal: "≤ 0.5"}.Missed())
	require.True(t, measure.Row{Ratio: 0.51, Goal: "≤ 0.5"}.Missed())
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}
