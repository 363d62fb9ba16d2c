package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"
)

// gathered is what /metrics would show of a metric of ours.
func gathered(t *testing.T, name string) (out []string) {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != namespace+"_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			out = append(out, fmt.Sprint(strings.Join(labels, "/"), " ", value))
		}
	}
	return out
}

// TestNames: every metric has a name and a help in the form that the field expects.
func TestNames(t *testing.T) {
	Register()
	w := httptest.NewRecorder()
	legacyregistry.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	problems, err := testutil.NewPromLinter(w.Body).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, namespace) {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	for _, e := range Catalog() {
		if !strings.HasPrefix(e.Name, "infra_apiserver_") || !strings.HasSuffix(e.Help, ".") || e.Type == "" {
			t.Errorf("%+v", e)
		}
	}
}

// TestSeriesOfRepositories: a repository's series are there while it is, and go
// with it; one that two sources tell of has one series, with the worse state.
func TestSeriesOfRepositories(t *testing.T) {
	Register()
	repos := []Repository{
		{Workspace: "w", Name: "a", Reachable: true, Streaming: true, WritePoints: 7, WritePointsKnown: true},
		{Workspace: "w", Name: "b", Reachable: true, Lag: time.Minute, LagRevs: 3},
	}
	end := AddSource(func() State {
		return State{Repositories: repos, Publishing: true, Unpublished: 2, OldestUnpublished: time.Second}
	})
	endTwin := AddSource(func() State {
		return State{Repositories: []Repository{{Workspace: "w", Name: "a", Lag: time.Second, WritePoints: 5, WritePointsKnown: true}}, IntentsExpired: 1}
	})
	for name, want := range map[string]string{
		"repository_reachable":             "[a/w 0 b/w 1]",
		"repository_streaming":             "[a/w 0 b/w 0]",
		"ingest_lag_seconds":               "[a/w 1 b/w 60]",
		"ingest_lag_revs":                  "[a/w 0 b/w 3]",
		"pds_write_points_left":            "[a/w 5]",
		"repositories":                     "[mounted 2 waiting 0]",
		"intents_pending":                  "[expired 1 live 0]",
		"publisher_leading":                "[ 1]",
		"publisher_pending":                "[ 2]",
		"publisher_oldest_pending_seconds": "[ 1]",
	} {
		if got := fmt.Sprint(gathered(t, name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	endTwin()
	repos = repos[:1]
	if got := fmt.Sprint(gathered(t, "repository_reachable")); got != "[a/w 1]" {
		t.Errorf("after b was unmounted: %s", got)
	}
	end()
	if got := gathered(t, "repository_reachable"); len(got) != 0 {
		t.Errorf("after the source ended: %v", got)
	}
}

// TestBound: the repositories beyond the bound share one series, with the worst
// state among them.
func TestBound(t *testing.T) {
	var all []Repository
	for i := range MaxRepositories + 3 {
		all = append(all, Repository{Workspace: fmt.Sprintf("w%04d", i), Name: "r", Reachable: i != MaxRepositories+1, Lag: time.Duration(i)})
	}
	out, n := bounded(append(all, all...))
	last := out[len(out)-1]
	if n != MaxRepositories+3 || len(out) != MaxRepositories+1 || last.Workspace != Others || last.Name != Others || last.Reachable || last.Lag != MaxRepositories+2 {
		t.Errorf("%d repositories, %d series, last %+v", n, len(out), last)
	}
	if first := out[0]; first.Workspace != "w0000" || !first.Reachable {
		t.Errorf("first %+v", first)
	}
}

// TestLabelsAreBounded: what a PDS answers and what a gap's reason says can't make
// ever more series.
func TestLabelsAreBounded(t *testing.T) {
	codes := map[string]bool{}
	for status := -1; status < 2000; status++ {
		codes[code(status)] = true
	}
	if len(codes) != len(told)+6 {
		t.Errorf("codes %v", codes)
	}
	for status, want := range map[int]string{0: noAnswer, 200: "200", 204: "2xx", 418: "4xx", 429: "429", 599: "5xx", 600: noAnswer} {
		if got := code(status); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
	for reason, want := range map[string]string{
		ConsistentRead:                  "consistent_read",
		"first connect":                 "first_connect",
		"subscribed":                    "first_connect",
		"connected without a cursor":    "stream",
		"disconnected for long":         "stream",
		"an event could not be decoded": "stream",
		"a frame could not be decoded":  "stream",
		"OutdatedCursor: the PDS no longer has the events since": "stream",
		"FutureCursor: the PDS counts its events anew":           "stream",
		"ConsumerTooSlow":                                  "stream",
		"#sync: the repository was replaced":               "sync",
		"the commit is too big for its operations":         "missed_event",
		"commits are missing":                              "missed_event",
		"an event was missed before rev 3n3itvzszjo22":     "missed_event",
		"a commit does not verify":                         "unverified",
		"an event had an unbelievable rev":                 "unverified",
		"the line of events is full":                       "full",
		`the repository moved on from rev "3n3itvzszjo22"`: "poll",
		"something that a later version says":              "other",
	} {
		if got := resyncReason(reason); got != want {
			t.Errorf("%q counts as %s, want %s", reason, got, want)
		}
	}
}

// TestCertificate: of several certificates the first to end is told.
func TestCertificate(t *testing.T) {
	Register()
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	for _, at := range []time.Time{{}, late, early} {
		t.Cleanup(AddCertificate(func() time.Time { return at }))
	}
	if got := fmt.Sprint(gathered(t, "serving_certificate_expiration_timestamp_seconds")); got != "[ 1000]" {
		t.Errorf("certificate %s", got)
	}
}
