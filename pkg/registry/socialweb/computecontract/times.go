package computecontract

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// completeTimes keeps the times that a writer leaves out, and sets those of the
// phases that are reached with this write. A contract that is Released or has Failed
// without having been taken on was never requested; one that is Releasing need not
// have been held.
func completeTimes(now, was *socialweb.ComputeContractStatus, clk clock.PassiveClock) {
	rank := now.Phase.Rank()
	taken := rank >= socialweb.ComputeRequesting.Rank() && !now.Phase.Finished()
	for _, t := range []struct {
		now, was **metav1.Time
		reached  bool
	}{
		{&now.RequestedAt, &was.RequestedAt, taken},
		{&now.HeldAt, &was.HeldAt, now.Phase == socialweb.ComputeHeld},
		{&now.FinishedAt, &was.FinishedAt, now.Phase.Finished()},
	} {
		switch {
		case *t.now != nil:
		case *t.was != nil:
			*t.now = (*t.was).DeepCopy()
		case t.reached:
			at := metav1.NewTime(clk.Now()).Rfc3339Copy()
			*t.now = &at
		}
	}
}
