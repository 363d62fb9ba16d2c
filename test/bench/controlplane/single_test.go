//go:build e2e

package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"socialweb.computer/infra-apiserver/test/bench/measure"
)

// warm requests are made before it is measured.
const warm = 10

// withinCall compares ours with the CRD's time plus one raw call to the PDS.
func withinCall(b *testing.B, r measure.Row, call string, t []measure.Times) {
	b.Helper()
	ours, crd, raw := t[0].Median(), t[1].Median(), t[2].Median()
	r.Ours = t[0].String()
	r.Theirs = fmt.Sprintf("CRD: %s; %s: %s", t[1], call, t[2])
	r.Ratio = float64(ours) / float64(crd+raw)
	r.Goal = fmt.Sprintf("≤ 1 (the sum of both; to the CRD alone %.2f)", float64(ours)/float64(crd))
	r.Where += ". The mean of the raw call is " + measure.Round(t[2].Mean()).String()
	add(b, r)
}

func (e *env) benchGet(b *testing.B) {
	w := e.within(b, "GET", "getRecord")
	t := measure.Turns(b, warm, *times,
		w.during(measure.Timed(func(ctx context.Context, _ int) error { return e.ours.get(ctx, name(0), "") })),
		measure.Timed(func(ctx context.Context, _ int) error { return e.crd.get(ctx, name(0), "") }),
		measure.Timed(e.pds.get))
	withinCall(b, measure.Row{What: "GET of one object", Where: w.where(b) + ". The PDS and etcd are asked at the same time"}, "raw getRecord", t)
}

// benchGetCached: nobody is asked. What is left is the aggregator.
func (e *env) benchGetCached(b *testing.B) {
	const query = "?resourceVersion=0"
	w := e.within(b, "GET", "")
	t := measure.Turns(b, warm, *times,
		w.during(measure.Timed(func(ctx context.Context, _ int) error { return e.ours.get(ctx, name(0), query) })),
		measure.Timed(func(ctx context.Context, _ int) error { return e.crd.get(ctx, name(0), query) }))
	where := w.where(b)
	direct := measure.Turns(b, warm, *times, measure.Timed(func(ctx context.Context, _ int) error { return e.direct.get(ctx, name(0), query) }))
	add(b, measure.Row{
		What: "GET with resourceVersion=0", Ours: t[0].String(), Theirs: "CRD: " + t[1].String(), Ratio: float64(t[0].Median()) / float64(t[1].Median()), Goal: "—",
		Where: fmt.Sprintf("%s. Without the aggregator, straight at our port: %s", where, direct[0]),
	})
}

func (e *env) benchPatchLabel(b *testing.B) {
	patch := func(s *side) measure.Side {
		return measure.Timed(func(ctx context.Context, i int) error { return s.patch(ctx, name(1), label("n", i)) })
	}
	w := e.within(b, "PATCH", "")
	t := measure.Turns(b, warm, *times, w.during(patch(e.ours)), patch(e.crd), measure.Timed(e.pds.put))
	withinCall(b, measure.Row{What: "Merge-patch of a label", Where: w.where(b) + ". The PDS isn't asked"}, "raw putRecord with swap", t)
}

func (e *env) benchPatchDeclaration(b *testing.B) {
	patch := func(s *side) measure.Side {
		return measure.Timed(func(ctx context.Context, i int) error {
			return s.patch(ctx, name(2), fmt.Sprintf(`{"spec":{"description":"%d"}}`, i))
		})
	}
	w := e.within(b, "PATCH", "putRecord")
	t := measure.Turns(b, warm, *times, w.during(patch(e.ours)), patch(e.crd), measure.Timed(e.pds.put))
	withinCall(b, measure.Row{What: "Merge-patch of the declaration", Where: w.where(b)}, "raw putRecord with swap", t)
}

// benchWatch: from a patch of a label to its event.
func (e *env) benchWatch(b *testing.B) {
	ours, crd := e.events(b, e.ours), e.events(b, e.crd)
	t := measure.Turns(b, warm, *times, ours, crd)
	add(b, measure.Row{
		What: "Patch of a label sent, to its watch event", Ours: t[0].String(), Theirs: "CRD: " + t[1].String(),
		Ratio: float64(t[0].Median()) / float64(t[1].Median()), Goal: "≤ 1.15",
		Where: "the write, as in the row of the patch; etcd's watch and the cache, the same code on both sides; the event passes the aggregator",
	})
}

// events is a side that patches a label and takes the time until its watch tells of it.
func (e *env) events(b *testing.B, s *side) measure.Side {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	body, err := s.watch(ctx, newClient(b, plane.Config()), s.now(b))
	require.NoError(b, err)
	lines := make(chan line, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(lines)
		defer body.Close() //nolint:errcheck // it ends with ctx
		read(ctx, body, func(l line) { lines <- l })
	}()
	b.Cleanup(func() {
		cancel()
		for range lines { // until its reader has ended
		}
		<-done
	})
	return func(ctx context.Context, i int) (time.Duration, error) {
		mark := fmt.Appendf(nil, `"w":"%d"`, i)
		answer := make(chan error, 1)
		begin := time.Now()
		go func() { answer <- s.patch(ctx, name(3), label("w", i)) }()
		for l := range lines {
			if bytes.Contains(l.text, mark) {
				return l.at.Sub(begin), <-answer
			}
		}
		return 0, errors.New("the watch ended")
	}
}

func label(key string, i int) string {
	return fmt.Sprintf(`{"metadata":{"labels":{%q:"%d"}}}`, key, i)
}
