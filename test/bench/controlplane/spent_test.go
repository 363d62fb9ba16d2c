//go:build e2e

package controlplane

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"socialweb.computer/infra-apiserver/test/bench/measure"
)

// cpu is what the servers have computed.
type cpu struct{ ours, kube time.Duration }

// during adds what a side makes them compute, 10 ms precisely a call.
func (c *cpu) during(s measure.Side) measure.Side {
	return func(ctx context.Context, i int) (time.Duration, error) {
		before, err := cpuNow()
		if err != nil {
			return 0, err
		}
		d, err := s(ctx, i)
		if err != nil {
			return 0, err
		}
		after, err := cpuNow()
		c.ours += after.ours - before.ours
		c.kube += after.kube - before.kube
		return d, err
	}
}

func cpuNow() (c cpu, err error) {
	if c.ours, err = cpuOf(plane.Replicas[0].Process().PID()); err != nil {
		return c, err
	}
	c.kube, err = cpuOf(plane.APIServer.PID())
	return c, err
}

// cpuOf a process, from the 14th and 15th fields of its stat: proc(5).
func cpuOf(pid int) (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ") // the name may hold anything
	var ticks int
	for _, f := range strings.Fields(rest)[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// within tells how long our server took for requests, and of that the PDS and etcd.
type within struct {
	e            *env
	verb, method string
	before       counts
	total        time.Duration
	n            int
}

// counts of histograms: seconds and observations.
type counts struct{ request, pds, etcd seconds }

type seconds struct{ sum, count float64 }

// within starts to look at requests of a verb, and the calls to the PDS that they make.
func (e *env) within(b *testing.B, verb, method string) *within {
	b.Helper()
	return &within{e: e, verb: verb, method: method, before: e.counts(b, verb, method)}
}

// during counts what the client sees.
func (w *within) during(s measure.Side) measure.Side {
	return func(ctx context.Context, i int) (time.Duration, error) {
		d, err := s(ctx, i)
		w.total += d
		w.n++
		return d, err
	}
}

func (w *within) where(b *testing.B) string {
	b.Helper()
	after := w.e.counts(b, w.verb, w.method)
	request := after.request.minus(w.before.request)
	require.InDelta(b, w.n, request.count, 1, "requests that our server has counted")
	mean := func(s seconds) time.Duration { return measure.Round(time.Duration(s.sum / float64(w.n) * 1e9)) }
	out := fmt.Sprintf("in our server %s", mean(request))
	if w.method != "" {
		pds := after.pds.minus(w.before.pds)
		out += fmt.Sprintf(", of which %.3g %s %s", pds.count/float64(w.n), w.method, mean(pds))
	}
	if etcd := after.etcd.minus(w.before.etcd); etcd.count >= float64(w.n) {
		out += fmt.Sprintf(", etcd %s", mean(etcd))
	}
	client := w.total/time.Duration(w.n) - time.Duration(request.sum/float64(w.n)*1e9)
	return out + fmt.Sprintf("; aggregator, TLS and client %s", measure.Round(client))
}

func (s seconds) minus(t seconds) seconds { return seconds{s.sum - t.sum, s.count - t.count} }

func (e *env) counts(b *testing.B, verb, method string) counts {
	b.Helper()
	m := e.metrics(b, e.direct)
	return counts{
		request: m.seconds("apiserver_request_duration_seconds", `verb="`+verb+`"`, `resource="infras"`),
		pds:     m.seconds("infra_apiserver_pds_request_duration_seconds", `method="com.atproto.repo.`+method+`"`),
		etcd:    m.seconds("etcd_request_duration_seconds", `resource="infras"`),
	}
}

// metrics are the lines of /metrics.
type metrics []string

func (e *env) metrics(b *testing.B, s *side) metrics {
	b.Helper()
	data, err := s.do(b.Context(), "GET", "/metrics", nil)
	require.NoError(b, err)
	return strings.Split(string(data), "\n")
}

// seconds of the series of a histogram that have all the labels.
func (m metrics) seconds(name string, labels ...string) seconds {
	return seconds{m.sum(name+"_sum", labels...), m.sum(name+"_count", labels...)}
}

func (m metrics) sum(name string, labels ...string) (sum float64) {
	for _, l := range m {
		key, value, ok := strings.Cut(l, "} ")
		if !ok {
			key, value, _ = strings.Cut(l, " ")
		}
		match := key == name || strings.HasPrefix(key, name+"{")
		for _, label := range labels {
			match = match && strings.Contains(key, label)
		}
		if v, err := strconv.ParseFloat(value, 64); match && err == nil {
			sum += v
		}
	}
	return sum
}
