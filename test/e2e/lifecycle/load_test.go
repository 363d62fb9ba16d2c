//go:build e2e

package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testhttp"
)

const path = "/apis/socialweb.computer/v1alpha1/infras"

// load is what clients do, through the aggregator. Its requests are not retried: one
// that fails is counted.
type load struct {
	client testhttp.Client
	names  []string

	mu       sync.Mutex // guards what follows
	failures []string
	pds      int // requests for which the PDS was too slow: they say nothing of us
	crossed  int // writes that met a GOAWAY on the wire: kube-apiserver can't send them again
	took     []time.Duration
	expired  map[string]int // how often a watch of a resource was told 410
	late     bool           // one was told so after the server's patience with etcd
	ended    int            // how often one was ended
	seen     map[int]map[string]bool
}

// newLoad makes objects for it.
func newLoad(t *testing.T, objects int) *load {
	t.Helper()
	c := plane.Config()
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		t.Fatal(err)
	}
	l := &load{client: testhttp.Client{HTTP: client, Server: c.Host}, expired: map[string]int{}, seen: map[int]map[string]bool{}}
	for range objects {
		l.names = append(l.names, plane.Infra(t))
	}
	return l
}

// mostAtOnce bounds the requests that are open at the same time: a machine that can't
// keep up with the rate gets fewer.
const mostAtOnce = 20

// run makes rate requests a second until ctx ends, reads and writes in turns, some
// of them to the records, and keeps watches open. It returns when all has ended.
func (l *load) run(ctx context.Context, rate, watches int) {
	var wg sync.WaitGroup
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	open := make(chan struct{}, mostAtOnce)
	for i := range watches {
		wg.Go(func() { l.watch(ctx, i) })
	}
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			wg.Wait()
			return
		case <-tick.C:
			name := l.names[i%len(l.names)]
			select {
			case open <- struct{}{}:
			default:
				continue
			}
			wg.Go(func() {
				defer func() { <-open }()
				switch {
				case i%25 == 0:
					l.do(ctx, http.MethodPatch, path+"/"+name, fmt.Sprintf(`{"spec":{"description":"%d"}}`, i))
				case i%5 == 0:
					l.do(ctx, http.MethodPatch, path+"/"+name, fmt.Sprintf(`{"metadata":{"labels":{"l":"%d"}}}`, i))
				case i%5 == 1:
					l.do(ctx, http.MethodGet, path+"?resourceVersion=0", "")
				default:
					l.do(ctx, http.MethodGet, path+"/"+name, "")
				}
			})
		}
	}
}

func (l *load) do(ctx context.Context, method, path, body string) {
	begin := time.Now()
	r := testhttp.Request{Method: method, Path: path}
	if body != "" {
		r.Kind, r.Body = "application/merge-patch+json", body
	}
	// A request that has begun is not cut off by the end of the load.
	a, err := l.client.Do(context.WithoutCancel(ctx), r)
	if a.Status >= http.StatusInternalServerError && tooSlow(string(a.Body)) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pds++
		return
	}
	if body != "" && a.Status == http.StatusServiceUnavailable && strings.Contains(string(a.Body), "Server's graceful shutdown GOAWAY") {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.crossed++
		return
	}
	if err != nil || a.Status != http.StatusOK || !json.Valid(a.Body) {
		l.fail(ctx, fmt.Sprintf("%s: %d %v %.300s", r, a.Status, err, a.Body))
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, time.Since(begin))
}

// tooSlow says whether it was the PDS that a refusal tells of: it couldn't be asked, or
// didn't say in its time what became of a write.
func tooSlow(body string) bool {
	return strings.Contains(body, atproto.ErrUnavailable.Error()) ||
		strings.Contains(body, atproto.ErrUnknownOutcome.Error()) && strings.Contains(body, context.DeadlineExceeded.Error())
}

func (l *load) fail(ctx context.Context, text string) {
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, time.Now().Format("15:04:05.000 ")+text)
}

// report says what was measured, and fails the test for what went wrong.
func (l *load) report(t *testing.T) {
	t.Helper()
	slices.Sort(l.took)
	if len(l.took) == 0 {
		t.Fatal("no request came through")
	}
	t.Logf("%d requests, p50 %s, p99 %s, longest %s; %d not answered by the PDS in time; %d crossed a GOAWAY; %d watches ended, told 410: %v", len(l.took),
		l.took[len(l.took)/2], l.took[len(l.took)*99/100], l.took[len(l.took)-1], l.pds, l.crossed, l.ended, l.expired)
	total := len(l.failures) + len(l.took) + l.pds + l.crossed
	if l.pds > total/100+1 {
		t.Errorf("%d of %d requests were answered that the PDS is unavailable", l.pds, total)
	}
	if len(l.failures) > 0 {
		t.Errorf("%d of %d requests failed:\n%s", len(l.failures), total, strings.Join(l.failures[:min(10, len(l.failures))], "\n"))
	}
}
