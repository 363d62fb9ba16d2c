package api

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/metrics"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

var updateMetrics = flag.Bool("update-metrics", false, "write artifacts/monitoring/metrics.txt again")

// metricsFile lists the metrics that the dashboard and the alert rules may use:
// ours, and those of every API server that it names already.
const metricsFile = "../../artifacts/monitoring/metrics.txt"

// exercised is a server that has done one of everything that is counted.
func exercised(t *testing.T) *env {
	t.Helper()
	pds := testpds.StartDev(t, testpds.Options{RateLimits: true})
	a := &account{Account: pds.Accounts[0], pds: pds}
	keepSecret(a.Password)
	a.login(t)
	counting := func(o *apiserver.Options) {
		o.Recommended.Etcd.StorageConfig.CountMetricPollPeriod = 100 * time.Millisecond
		o.Quota.MaxObjects, o.Quota.MaxBytes = 1, "1Mi"
		letShardsIn(t, o)
	}
	e := &env{server: newServerWith(t, pds.PLCURL, counting), account: a, proxy: newProxy(t, a)}
	e.mount(t, deaf)
	e.createSettled(t, newInfra("a", "by the API"))
	e.setPhase(t, "a", v1alpha1.PhaseDeployed)
	waitFor(t, "published status", func() error {
		_, cid := a.get(t, "a")
		if i, err := e.cached(t.Context(), "a"); err != nil || i.Status.Record.CID != cid {
			return fmt.Errorf("record %s, object %+v, %w", cid, i.Status.Record, err)
		}
		return contains(a.raw(t, "a"), "deployed")
	})
	e.account.put(t, "a", infraRecord("by the PDS")) // the server is deaf
	e.must(t, request{method: http.MethodPatch, path: infras + "/a", kind: mergePatch, body: `{"spec":{"description":"again"}}`})
	e.account.put(t, "bad", record{"$type": infraCollection, "contracts": "none"})
	e.objects(t)
	if err := e.client.Infras().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	bounded := e.throughKCP(t, "bounded")
	bounded.must(t, request{method: http.MethodPost, path: collections, body: collectionManifest("a")})
	refusedBy(t, "a second object", bounded.do(t, request{method: http.MethodPost, path: collections, body: collectionManifest("b")}), "objects", "bounded")
	if a := e.throughKCP(t, "*").do(t, request{method: http.MethodPost, path: collections, body: "{}"}); a.status < 400 {
		t.Errorf("a write to all workspaces: %d", a.status)
	}
	e.setRepo(t, func(s *v1alpha1.AtprotoRepoSpec) { s.EventSource, s.JetstreamURL = v1alpha1.EventSourceFirehose, "" })
	e.awaitRepo(t, v1alpha1.ConditionReady, metav1.ConditionTrue)
	e.create(t, newInfra("last", "by a connection of its own")) // it is told what limits are left
	return e
}

// happened is a metric that must show that something has happened.
type happened struct {
	name   string
	labels map[string]string
}

// scraped is a scrape that has all of it, and the count of objects. That comes once a
// period, and goes when another server of this process ends: the registry is the process's.
// What a workspace has, and what an event source announces, is told a little later too.
func (e *env) scraped(t *testing.T, before map[string]family, all []happened) (shown map[string]family) {
	t.Helper()
	waitFor(t, "what is counted", func() error {
		if shown = e.scrape(t); len(shown["apiserver_resource_objects"].series) == 0 {
			return errors.New("no objects were counted")
		}
		for _, c := range all {
			name := "infra_apiserver_" + c.name
			if was, is := before[name].sum(c.labels), shown[name].sum(c.labels); is <= was && shown[name].kind != "gauge" || is == 0 {
				return fmt.Errorf("%s%v: %v, before %v", name, c.labels, is, was)
			}
		}
		return nil
	})
	return shown
}

// TestMetrics: /metrics shows every metric of ours, with its labels, and what has
// happened; and the list of metrics that monitoring is made from is true.
func TestMetrics(t *testing.T) {
	t.Parallel()
	before := newServer(t, "http://127.0.0.1:1").scrape(t)
	e := exercised(t)
	after := e.scraped(t, before, []happened{
		{"pds_request_duration_seconds", map[string]string{"method": "com.atproto.repo.putRecord", "code": "200"}},
		{"pds_request_duration_seconds", map[string]string{"method": "com.atproto.repo.putRecord", "code": "400"}}, // the swap
		{"pds_swap_conflicts_total", map[string]string{"resource": "infras", "operation": "update"}},
		{"record_writes_total", map[string]string{"resource": "infras", "operation": "create", "result": "committed"}},
		{"record_writes_total", map[string]string{"resource": "infras", "operation": "delete", "result": "committed"}},
		{"view_transactions_total", map[string]string{"operation": "putView", "result": "committed"}},
		{"record_decode_errors_total", map[string]string{"collection": infraCollection}},
		{"barrier_wait_duration_seconds", map[string]string{"result": "ok"}},
		{"barrier_catchups_total", map[string]string{"by": "comparison"}},
		{"ingest_resyncs_total", map[string]string{"reason": "first_connect"}},
		{"ingest_events_total", map[string]string{"kind": "Gap"}},
		{"publisher_writes_total", map[string]string{"result": "published"}},
		{"repositories", map[string]string{"state": "mounted"}},
		{"publisher_leading", nil},
		{"workspace_objects", map[string]string{"workspace": "bounded"}},
		{"workspace_bytes", map[string]string{"workspace": "bounded"}},
		{"workspace_limit", map[string]string{"resource": "objects"}},
		{"workspace_writes_total", map[string]string{"workspace": "bounded"}},
		{"workspace_refused_total", map[string]string{"workspace": "bounded", "limit": "objects"}},
		{"door_refusals_total", nil},
		{"serving_certificate_expiration_timestamp_seconds", nil},
		{"pds_write_points_left", map[string]string{"workspace": "default", "atprotorepo": repoName}},
	})
	for _, m := range metrics.Catalog() {
		f, ok := after[m.Name]
		if !ok || f.kind != m.Type {
			t.Errorf("%s: %q, want a %s", m.Name, f.kind, m.Type)
			continue
		}
		for _, l := range f.labels {
			if l != "le" && !slices.Contains(m.Labels, l) {
				t.Errorf("%s has the label %s", m.Name, l)
			}
		}
	}
	checkMetricsFile(t, after)
}

// line describes a family in metricsFile.
func (f family) line(name string) string {
	labels := slices.DeleteFunc(slices.Clone(f.labels), func(l string) bool { return l == "le" })
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", name, f.kind, strings.Join(labels, ",")))
}

func checkMetricsFile(t *testing.T, shown map[string]family) {
	t.Helper()
	b, err := os.ReadFile(metricsFile)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for name := range shown {
		if strings.HasPrefix(name, "infra_apiserver_") {
			names[name] = true
		}
	}
	var comment, lines []string
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if strings.HasPrefix(line, "#") {
			comment = append(comment, line)
			continue
		}
		name, _, _ := strings.Cut(line, " ")
		names[name] = true
	}
	for _, name := range keys(names) {
		f, ok := shown[name]
		if !ok {
			t.Errorf("%s names %s, which /metrics doesn't have", metricsFile, name)
		}
		lines = append(lines, f.line(name))
	}
	want := strings.Join(append(comment, lines...), "\n") + "\n"
	switch {
	case string(b) == want:
	case *updateMetrics:
		if err := os.WriteFile(metricsFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what /metrics has: go test ./test/api -run TestMetrics -update-metrics", metricsFile)
	}
}

// TestSeriesGoWithTheirRepository: an AtprotoRepo's series are there while it is
// mounted, and no longer.
func TestSeriesGoWithTheirRepository(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	has := func() bool {
		return slices.ContainsFunc(e.scrape(t)["infra_apiserver_repository_reachable"].series,
			func(s series) bool { return s.labels["atprotorepo"] == "short-lived" })
	}
	repo := &v1alpha1.AtprotoRepo{
		ObjectMeta: metav1.ObjectMeta{Name: "short-lived"},
		Spec:       v1alpha1.AtprotoRepoSpec{DID: e.account.DID, PDS: e.proxy.URL(), Access: v1alpha1.AccessRead},
	}
	if _, err := e.client.AtprotoRepos().Create(t.Context(), repo, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "its series", func() error {
		if !has() {
			return errors.New("there are none")
		}
		return nil
	})
	if err := e.client.AtprotoRepos().Delete(t.Context(), repo.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end of its series", func() error {
		if has() {
			return errors.New("they are there")
		}
		return nil
	})
}
