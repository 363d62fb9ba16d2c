package repostore

import (
	"context"
	"testing"

	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher/metrics"
	"k8s.io/component-base/metrics/testutil"
)

// suiteCase is one function of the upstream storage suite,
// k8s.io/apiserver/pkg/storage/testing, or a variant of its use.
type suiteCase struct {
	// function of the suite, and the variant where it is used more than once.
	function, variant string
	// options of the environment; before runs before anything is built, for the
	// feature gates that decide at construction.
	options suiteOptions
	before  func(t *testing.T)
	run     func(ctx context.Context, t *testing.T, r suiteRun)
	// notRaw and notCached say why the case can't apply to that half.
	notRaw, notCached string
	// note says what is particular about it.
	note string
}

// suiteRun is one run of a case.
type suiteRun struct {
	*suiteEnv
	s      suiteStore // the storage under test
	cached bool
}

func (c suiteCase) name() string {
	if c.variant == "" {
		return c.function
	}
	return c.function + "/" + c.variant
}

// plain is a function of the suite that needs nothing but the storage.
func plain(f func(context.Context, *testing.T, storage.Interface)) func(context.Context, *testing.T, suiteRun) {
	return func(ctx context.Context, t *testing.T, r suiteRun) { f(ctx, t, r.s) }
}

func suiteCases() []suiteCase { return append(storeCases(), watchCases()...) }

// TestStorageSuiteRaw runs the suite against the Store.
func TestStorageSuiteRaw(t *testing.T) {
	if raced {
		t.Skip("under the race detector the cached half is enough: it runs the same Store, and more at once")
	}
	for _, c := range suiteCases() {
		if c.notRaw == "" {
			t.Run(c.name(), func(t *testing.T) { c.do(t, false) })
		}
	}
}

// TestStorageSuiteCached runs it against the Store behind the real Cacher, wired
// as Decorator wires it.
func TestStorageSuiteCached(t *testing.T) {
	metrics.Register()
	for _, c := range suiteCases() {
		if c.notCached == "" {
			t.Run(c.name(), func(t *testing.T) { c.do(t, true) })
		}
	}
	checks, err := testutil.GetCounterMetricValue(metrics.StorageConsistencyCheckTotal.WithLabelValues("", podResource.Resource, "success"))
	if err != nil || checks == 0 {
		t.Errorf("the Cacher's consistency check passed %v times (%v), want some", checks, err)
	}
}

func (c suiteCase) do(t *testing.T, cached bool) {
	if c.before != nil {
		c.before(t)
	}
	e := newSuiteEnv(t, c.options, cached)
	c.run(context.Background(), t, suiteRun{suiteEnv: e, s: e.under(), cached: cached})
}
