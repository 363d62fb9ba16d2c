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
	reads, writes     atOnce // those in flight, by what they take of the server's own limits
	buckets           map[string]*rate.Limiter
	swept             time.Time
}

func newDoorLimits(o *QuotaOptions, c clock.PassiveClock) *doorLimits {
	if o == nil {
		o = &QuotaOptions{}
	}
	return &doorLimits{
		rate: o.WriteRate, clock: c, buckets: map[string]*rate.Limiter{}, swept: c.Now(),
		inflight: atOnce{what: "requests at work", limit: metrics.LimitInflight, most: o.MaxInflight, of: map[string]int{}},
		watches:  atOnce{what: "watches", limit: metrics.LimitWatches, most: o.MaxWatches, of: map[string]int{}},
		reads:    atOnce{what: "reads", limit: metrics.LimitInflight, of: map[string]int{}},
		writes:   atOnce{what: "writes", limit: metrics.LimitInflight, of: map[string]int{}},
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
		sorts := l.sortsOf(info)
		if why, full := l.enter(ws, sorts); full != nil {
			refuse(apierrors.NewTooManyRequests(why+": try again", 1), full.limit)
			return
		}
		defer l.leave(ws, sorts)
		if wait := l.wait(ws, r, info); wait > 0 {
			refuse(apierrors.NewTooManyRequests(fmt.Sprintf("workspace %s writes more often than %g times a second, which is as often as it may: try again", ws, l.rate), wait), metrics.LimitWriteRate)
			return
		}
		next.ServeHTTP(w, r)
	})
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
