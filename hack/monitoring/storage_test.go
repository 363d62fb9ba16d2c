package monitoring

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// memory is a storage that holds the series of a test.
type memory []storage.Series

// load reads series in the notation of promtool: 'name{label="x"}' and '0+1x5 _ 7'.
func load(t *testing.T, interval time.Duration, input []inputSeries) memory {
	t.Helper()
	var out memory
	for _, in := range input {
		lset, values, err := promQL.ParseSeriesDesc(in.Series + " " + in.Values)
		if err != nil {
			t.Fatalf("series %s %s: %v", in.Series, in.Values, err)
		}
		var samples []chunks.Sample
		for i, v := range values {
			if !v.Omitted {
				samples = append(samples, sample{int64(i) * interval.Milliseconds(), v.Value})
			}
		}
		out = append(out, storage.NewListSeries(lset, samples))
	}
	return out
}

// Querier implements storage.Queryable.
func (m memory) Querier(int64, int64) (storage.Querier, error) { return querier{memory: m}, nil }

// querier answers selects; nothing that rules need asks for more.
type querier struct {
	storage.LabelQuerier
	memory
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &seriesSet{at: -1}
	for _, s := range q.memory {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Labels().Get(m.Name)) }) {
			set.series = append(set.series, s)
		}
	}
	slices.SortFunc(set.series, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return set
}

type seriesSet struct {
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series                { return s.series[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// sample of a series, a number.
type sample struct {
	t int64
	f float64
}

func (s sample) T() int64                      { return s.t }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.f }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }
