//go:build e2e

package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"socialweb.computer/infra-apiserver/test/bench/measure"
)

// perConnection watchers share a connection.
const perConnection = 100

// benchWatchers: how many events a second reach many watchers, and what those cost.
func (e *env) benchWatchers(b *testing.B) {
	const rounds = 3
	before := e.memory(b)
	ours := e.crowd(b, e.ours)
	between := e.memory(b)
	crd := e.crowd(b, e.crd)
	after := e.memory(b)
	var ourCPU, crdCPU cpu
	t := measure.Turns(b, 1, rounds, ourCPU.during(ours.tell), crdCPU.during(crd.tell))
	n := float64(*watchers * *events)
	rate := func(t measure.Times) float64 { return n / t.Median().Seconds() }
	each := func(d time.Duration) time.Duration {
		return (d / time.Duration(rounds+1) / time.Duration(n)).Round(100)
	}
	add(b, measure.Row{
		What: fmt.Sprintf("Events to %d watchers, by %d patches", *watchers, *events),
		Ours: fmt.Sprintf("%.0f a second", rate(t[0])), Theirs: fmt.Sprintf("CRD: %.0f a second", rate(t[1])),
		Ratio: float64(t[0].Median()) / float64(t[1].Median()), Goal: "—",
		Where: fmt.Sprintf("writing to %d streams, for ours twice; CPU of one event to one watcher: ours %s and kube-apiserver's %s to pass it on, for the CRD %s. The ratio is that of the times",
			*watchers, each(ourCPU.ours), each(ourCPU.kube), each(crdCPU.kube)),
	})
	w := float64(*watchers)
	add(b, measure.Row{
		What: "Live memory of a watcher", Ours: kib((between.ours.live-before.ours.live)/w) + ", and kube-apiserver's " + kib((between.kube.live-before.kube.live)/w) + " to pass it on",
		Theirs: "CRD: " + kib((after.kube.live-between.kube.live)/w), Goal: "—",
		Ratio: (between.ours.live - before.ours.live) / (after.kube.live - between.kube.live),
		Where: fmt.Sprintf("goroutines, buffers and channels of the stream; %d share a connection. The ratio is that of our server alone. Resident: ours %s, from %s, kube-apiserver with both crowds %s, from %s",
			perConnection, mib(between.ours.resident), mib(before.ours.resident), mib(after.kube.resident), mib(before.kube.resident)),
	})
}

// crowd of watchers of one side.
type crowd struct {
	side  *side
	told  atomic.Int64
	ended atomic.Int64
	seen  chan struct{} // holds a token where told has moved
	round int
}

// crowd opens the watches; they end with the benchmark.
func (e *env) crowd(b *testing.B, s *side) *crowd {
	b.Helper()
	c := &crowd{side: s, seen: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(b.Context())
	var readers sync.WaitGroup
	b.Cleanup(func() {
		cancel()
		readers.Wait()
	})
	rv := s.now(b)
	var client *http.Client
	var g errgroup.Group
	g.SetLimit(8)
	for i := range *watchers {
		if i%perConnection == 0 {
			client = newClient(b, plane.Config())
		}
		client := client
		g.Go(func() error {
			body, err := s.watch(ctx, client, rv)
			if err != nil {
				return err
			}
			readers.Go(func() {
				defer c.ended.Add(1)
				defer body.Close() //nolint:errcheck // it ends with ctx
				for lines := scanner(body); lines.Scan(); {
					if bytes.HasPrefix(lines.Bytes(), []byte(`{"type":"MODIFIED"`)) {
						c.told.Add(1)
						select {
						case c.seen <- struct{}{}:
						default:
						}
					}
				}
			})
			return nil
		})
	}
	require.NoError(b, g.Wait())
	return c
}

// tell makes the changes, at most ahead of them before all watchers were told of the
// first, and takes the time until all were told of all.
func (c *crowd) tell(ctx context.Context, _ int) (time.Duration, error) {
	const ahead = 10
	begin := time.Now()
	start := c.told.Load()
	for i := range *events {
		if err := c.await(ctx, start+int64((i-ahead)**watchers)); err != nil {
			return 0, err
		}
		c.round++
		if err := c.side.patch(ctx, name(i%min(*events, *objects/10)), label("e", c.round)); err != nil {
			return 0, err
		}
	}
	err := c.await(ctx, start+int64(*events**watchers))
	return time.Since(begin), err
}

// await until so many events were told.
func (c *crowd) await(ctx context.Context, want int64) error {
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	for c.told.Load() < want {
		select {
		case <-c.seen:
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return fmt.Errorf("%d of %d events were told, %d watches ended", c.told.Load(), want, c.ended.Load())
		}
	}
	return nil
}
