package metrics

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// namespace begins every name.
const namespace = "infra_apiserver"

// Entry describes a metric: what docs/metrics.md says of it.
type Entry struct {
	// Name in full.
	Name string
	// Type is counter, gauge or histogram.
	Type string
	// Labels in the order of their names.
	Labels []string
	// Help is one sentence.
	Help string
}

var (
	entries  []Entry
	counted  []metrics.Registerable
	register sync.Once
)

// Register makes the metrics part of the process's registry. Before, counting
// costs nothing and does nothing.
func Register() {
	register.Do(func() {
		for _, m := range counted {
			legacyregistry.MustRegister(m)
		}
		legacyregistry.CustomMustRegister(newCollector())
		begin()
	})
}

// Catalog lists all metrics by name.
func Catalog() []Entry {
	out := slices.Clone(entries)
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// add notes a metric in the catalog and returns its full name.
func add(kind, name, help string, labels []string) string {
	e := Entry{Name: namespace + "_" + name, Type: kind, Labels: slices.Sorted(slices.Values(labels)), Help: help}
	entries = append(entries, e)
	return e.Name
}

func counter(name, help string, labels ...string) *metrics.CounterVec {
	v := metrics.NewCounterVec(&metrics.CounterOpts{
		Name: add("counter", name, help, labels), Help: help, StabilityLevel: metrics.ALPHA,
	}, labels)
	counted = append(counted, v)
	return v
}

func histogram(name, help string, buckets []float64, labels ...string) *metrics.HistogramVec {
	v := metrics.NewHistogramVec(&metrics.HistogramOpts{
		Name: add("histogram", name, help, labels), Help: help, Buckets: buckets, StabilityLevel: metrics.ALPHA,
	}, labels)
	counted = append(counted, v)
	return v
}

// gauge is a metric that is asked for at each scrape.
func gauge(name, help string, labels ...string) *metrics.Desc {
	return metrics.NewDesc(add("gauge", name, help, labels), help, labels, nil, metrics.ALPHA, "")
}
