package apiserver

import (
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/metrics"
	"socialweb.computer/infra-apiserver/internal/repostore"
)

// doorLimits bounds how fast, and how many at once, the requests of a workspace come
// through the door of kcp, where all users of all workspaces are one client. What comes
// otherwise (the controller, administrators, the server itself) isn't bounded here.
type doorLimits struct {
	rate  float64 // writes a second; 0: any number
	clock clock.PassiveClock

	mu                sync.Mutex // guards what follows
	inflight, watches atOnce
	buckets           map[string]*rate.Limiter
	swept             time.Time
}

// atOnce counts the requests of one sort that are at work.
type atOnce struct {
	what, limit string         // in words, and for the metric
	most        int            // of a workspace; 0: any number
	of          map[string]int // by workspace; none: no entry
}

func newDoorLimits(o *QuotaOptions, c clock.PassiveClock) *doorLimits {
	if o == nil {
		o = &QuotaOptions{}
	}
	return &doorLimits{
		rate: o.WriteRate, clock: c, buckets: map[string]*rate.Limiter{}, swept: c.Now(),
		inflight: atOnce{"requests at work", metrics.LimitInflight, o.MaxInflight, map[string]int{}},
		watches:  atOnce{"watches", metrics.LimitWatches, o.MaxWatches, map[string]int{}},
	}
}

// handler holds next to the limits. All workspaces together are no workspace: they are
// read by the shard itself.
func (l *doorLimits) handler(next http.Handler, resolver genericapirequest.RequestInfoResolver, codecs runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := entryFrom(r.Context())
		if l == nil || e == nil || e.shard == "" || e.workspace == repostore.AllWorkspaces {
			next.ServeHTTP(w, r)
			return
		}
		ws := e.workspace
		refuse := func(err *apierrors.StatusError, limit string) {
			metrics.WorkspaceRefused(ws, limit)
			responsewriters.ErrorNegotiated(err, codecs, schema.GroupVersion{Version: "v1"}, w, r)
		}
		info, err := resolver.NewRequestInfo(r)
		if err != nil {
			responsewriters.ErrorNegotiated(apierrors.NewBadRequest("the path or the query can't be read"), codecs, schema.GroupVersion{Version: "v1"}, w, r)
			return
		}
		sort := &l.inflight
		if info.Verb == "watch" {
			sort = &l.watches
		}
		if !l.enter(sort, ws) {
			refuse(apierrors.NewTooManyRequests(fmt.Sprintf("workspace %s has %d %s, which is as many as it may: try again", ws, sort.most, sort.what), 1), sort.limit)
			return
		}
		defer l.leave(sort, ws)
		if wait := l.wait(ws, r, info); wait > 0 {
			refuse(apierrors.NewTooManyRequests(fmt.Sprintf("workspace %s writes more often than %g times a second, which is as often as it may: try again", ws, l.rate), wait), metrics.LimitWriteRate)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (l *doorLimits) enter(a *atOnce, ws string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.most > 0 && a.of[ws] >= a.most {
		return false
	}
	a.of[ws]++
	return true
}

func (l *doorLimits) leave(a *atOnce, ws string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.of[ws]--; a.of[ws] == 0 {
		delete(a.of, ws)
	}
}

// dryRun tells whether a request says in its query that it writes nothing. That of a
// deletion doesn't count where there are options in its body, and so not here.
func dryRun(r *http.Request) bool {
	return r.Method != http.MethodDelete && r.URL.Query().Get("dryRun") != ""
}

// wait takes a write from the workspace's bucket. If there is none it is how many
// seconds it takes until there is. A request that writes nothing takes none, nor does a
// dry run.
func (l *doorLimits) wait(ws string, r *http.Request, info *genericapirequest.RequestInfo) (seconds int) {
	if l.rate <= 0 || !info.IsResourceRequest || r.Method == http.MethodGet || r.Method == http.MethodHead || dryRun(r) {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.sweepLocked(now)
	b := l.buckets[ws]
	if b == nil {
		b = rate.NewLimiter(rate.Limit(l.rate), int(math.Max(10, math.Ceil(2*l.rate))))
		l.buckets[ws] = b
	}
	taken := b.ReserveN(now, 1)
	delay := taken.DelayFrom(now)
	if delay == 0 {
		return 0
	}
	taken.CancelAt(now)
	return max(1, int(math.Ceil(delay.Seconds())))
}

// sweepEvery is how often buckets of workspaces that don't write are dropped.
const sweepEvery = time.Minute

// sweepLocked drops the buckets that are full: a new one is the same.
func (l *doorLimits) sweepLocked(now time.Time) {
	if now.Sub(l.swept) < sweepEvery {
		return
	}
	l.swept = now
	for ws, b := range l.buckets {
		if b.TokensAt(now) >= float64(b.Burst()) {
			delete(l.buckets, ws)
		}
	}
}
