package apiserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	testclock "k8s.io/utils/clock/testing"
)

// limitedDoor is what requests of kcp come through before they are served by next.
type limitedDoor struct {
	*testing.T
	limits *doorLimits
	http.Handler
}

func newLimitedDoor(t *testing.T, o *QuotaOptions, c *testclock.FakeClock, next http.HandlerFunc) *limitedDoor {
	l := newDoorLimits(o, c)
	resolver := &genericapirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	return &limitedDoor{t, l, l.handler(next, resolver, Codecs)}
}

// send sends a request of a workspace; shard "": by its plain path.
func (d *limitedDoor) send(method, path, workspace, shard string) *httptest.ResponseRecorder {
	d.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(d.Context(), method, path, http.NoBody)
	if workspace != "" {
		r = r.WithContext(withEntry(r.Context(), &entry{workspace: workspace, shard: shard}))
	}
	d.ServeHTTP(w, r)
	return w
}

func ok(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// tooMany checks an answer that refuses, and returns when to come again.
func tooMany(t *testing.T, what string, w *httptest.ResponseRecorder) string {
	t.Helper()
	var s metav1.Status
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || w.Code != http.StatusTooManyRequests || s.Kind != "Status" ||
		s.Reason != metav1.StatusReasonTooManyRequests || !strings.Contains(s.Message, "workspace one ") || strings.Contains(s.Message, "two") {
		t.Errorf("%s: %d %s", what, w.Code, w.Body)
	}
	return w.Header().Get("Retry-After")
}

// TestWriteRate: a workspace has a burst of writes and then so many a second; reads
// and others' writes don't count.
func TestWriteRate(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(time.Now())
	d := newLimitedDoor(t, &QuotaOptions{WriteRate: 8}, clock, ok)
	for range 16 {
		if w := d.send(http.MethodPost, infras, "one", shardName); w.Code != http.StatusOK {
			t.Fatalf("within the burst: %d", w.Code)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if after := tooMany(t, method, d.send(method, infras+"/a", "one", shardName)); after != "1" {
			t.Errorf("%s: Retry-After %q", method, after)
		}
	}
	// What a deletion has in its body outweighs its query.
	tooMany(t, "a deletion that says it is a dry run", d.send(http.MethodDelete, infras+"/a?dryRun=All", "one", shardName))
	for name, w := range map[string]*httptest.ResponseRecorder{
		"a read":            d.send(http.MethodGet, infras, "one", shardName),
		"a dry run":         d.send(http.MethodPost, infras+"?dryRun=All", "one", shardName),
		"another workspace": d.send(http.MethodPost, infras, "two", shardName),
		"by the plain path": d.send(http.MethodPost, infras, "one", ""),
		"without a door":    d.send(http.MethodPost, infras, "", ""),
		"discovery":         d.send(http.MethodPost, "/apis", "one", shardName),
	} {
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	clock.Step(time.Second / 4)
	for range 2 {
		if w := d.send(http.MethodPost, infras, "one", shardName); w.Code != http.StatusOK {
			t.Errorf("a quarter of a second later: %d", w.Code)
		}
	}
	tooMany(t, "both are used", d.send(http.MethodPost, infras, "one", shardName))
	clock.Step(sweepEvery)
	d.send(http.MethodPost, infras, "two", shardName)
	if n := len(d.limits.buckets); n != 1 {
		t.Errorf("%d buckets are kept", n)
	}
}

// TestSlowWriteRate: the burst is ten where the rate is small, and a refused write
// doesn't put off the next.
func TestSlowWriteRate(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(time.Now())
	d := newLimitedDoor(t, &QuotaOptions{WriteRate: 0.1}, clock, ok)
	for range 10 {
		d.send(http.MethodPost, infras, "one", shardName)
	}
	for range 5 {
		if after := tooMany(t, "again", d.send(http.MethodPost, infras, "one", shardName)); after != "10" {
			t.Errorf("Retry-After %q", after)
		}
	}
	clock.Step(10 * time.Second)
	if w := d.send(http.MethodPost, infras, "one", shardName); w.Code != http.StatusOK {
		t.Errorf("when it was told to: %d", w.Code)
	}
}

// TestAtOnce: of a workspace's requests so many are at work at once, and so many
// watches; those of the other sort, other workspaces and all of them together aren't held
// back.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o           QuotaOptions
		query, free string // of those that are bounded, and of those that aren't
	}{
		"requests": {QuotaOptions{MaxInflight: 2}, "", "?watch=1"},
		"watches":  {QuotaOptions{MaxWatches: 2}, "?watch=1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived, release := make(chan struct{}), make(chan struct{})
			d := newLimitedDoor(t, &c.o, testclock.NewFakeClock(time.Now()), func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("limit") {
					arrived <- struct{}{}
					<-release
				}
				ok(w, r)
			})
			slow := infras + "?limit=1" + strings.Replace(c.query, "?", "&", 1)
			done := make(chan int, 2)
			for range 2 {
				go func() { done <- d.send(http.MethodGet, slow, "one", shardName).Code }()
				<-arrived
			}
			if after := tooMany(t, "a third", d.send(http.MethodGet, infras+c.query, "one", shardName)); after != "1" {
				t.Errorf("Retry-After %q", after)
			}
			for name, w := range map[string]*httptest.ResponseRecorder{
				"another sort":      d.send(http.MethodGet, infras+c.free, "one", shardName),
				"another workspace": d.send(http.MethodGet, infras+c.query, "two", shardName),
				"all workspaces":    d.send(http.MethodGet, infras+c.query, "*", shardName),
				"by the plain path": d.send(http.MethodGet, infras+c.query, "one", ""),
			} {
				if w.Code != http.StatusOK {
					t.Errorf("%s: %d %s", name, w.Code, w.Body)
				}
			}
			close(release)
			for range 2 {
				if code := <-done; code != http.StatusOK {
					t.Errorf("%d", code)
				}
			}
			if w := d.send(http.MethodGet, infras+c.query, "one", shardName); w.Code != http.StatusOK || len(d.limits.inflight.of)+len(d.limits.watches.of) != 0 {
				t.Errorf("afterwards: %d, %v, %v", w.Code, d.limits.inflight.of, d.limits.watches.of)
			}
		})
	}
}

// TestShare: workspaces whose requests wait don't take all that the server does at once: each
// is held to its share, and one that has less is let in.
func TestShare(t *testing.T) {
	t.Parallel()
	const reads, writes, evil = 40, 20, 5
	arrived, release := make(chan struct{}), make(chan struct{})
	d := newLimitedDoor(t, &QuotaOptions{MaxInflight: reads}, testclock.NewFakeClock(time.Now()), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("limit") {
			arrived <- struct{}{}
			<-release
		}
		ok(w, r)
	})
	d.limits.share(reads, writes)
	for method, shared := range map[string]int{http.MethodGet: reads / 2, http.MethodPost: writes / 2} {
		held := 0
		done := make(chan int, reads)
		for range reads { // each wants more than there is, all at the same pace
			for n := range evil {
				go func() { done <- d.send(method, infras+"?limit=1", "one"+string(rune('a'+n)), shardName).Code }()
				select {
				case <-arrived:
					held++
				case code := <-done:
					if code != http.StatusTooManyRequests {
						t.Fatalf("%s: %d", method, code)
					}
				}
			}
		}
		if held != shared {
			t.Errorf("%s: %d are held of %d", method, held, shared)
		}
		if w := d.send(method, infras, "other", shardName); w.Code != http.StatusOK {
			t.Errorf("%s: another workspace: %d %s", method, w.Code, w.Body)
		}
		for range held {
			release <- struct{}{}
			if code := <-done; code != http.StatusOK {
				t.Errorf("%s: %d", method, code)
			}
		}
		if l := d.limits; l.inflight.total+l.reads.total+l.writes.total+len(l.reads.of)+len(l.writes.of) != 0 {
			t.Errorf("afterwards: %+v, %+v, %+v", l.inflight, l.reads, l.writes)
		}
	}
}

// TestNoDoorLimits: without options nothing is held back.
func TestNoDoorLimits(t *testing.T) {
	t.Parallel()
	d := newLimitedDoor(t, nil, testclock.NewFakeClock(time.Now()), ok)
	for range 100 {
		if w := d.send(http.MethodPost, infras, "one", shardName); w.Code != http.StatusOK {
			t.Fatal(w.Code)
		}
	}
}
