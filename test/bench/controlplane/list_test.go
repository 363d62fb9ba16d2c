//go:build e2e

package controlplane

import (
	"context"
	"fmt"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/test/bench/measure"
)

func (e *env) benchList(b *testing.B) {
	e.lists(b, fmt.Sprintf("Consistent LIST of %d", e.n), "")
	e.lists(b, fmt.Sprintf("LIST of %d with resourceVersion=0", e.n), "?resourceVersion=0")
}

func (e *env) lists(b *testing.B, what, query string) {
	b.Helper()
	list := func(s *side, spent *cpu) measure.Side {
		return spent.during(measure.Timed(func(ctx context.Context, _ int) error {
			_, err := s.list(ctx, query)
			return err
		}))
	}
	const warm = 2
	n := max(10, min(50, 100000/e.n))
	var ours, crd cpu
	t := measure.Turns(b, warm, n, list(e.ours, &ours), list(e.crd, &crd))
	add(b, measure.Row{
		What: what, Ours: t[0].String(), Theirs: "CRD: " + t[1].String(),
		Ratio: float64(t[0].Median()) / float64(t[1].Median()), Goal: "≤ 0.5",
		Where: fmt.Sprintf("JSON and gzip of %s; CPU of one list: ours %s and kube-apiserver's %s to pass it on, for the CRD %s",
			mib(float64(objectSize*e.n)), measure.Round(ours.ours/time.Duration(n+warm)), measure.Round(ours.kube/time.Duration(n+warm)), measure.Round(crd.kube/time.Duration(n+warm))),
	})
}
