package servingcert

import (
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/testleak"
)

func TestMain(m *testing.M) { testleak.Main(m) }

// epoch is when the tests begin.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

var names = []string{"infra-apiserver.infra.svc", "infra-apiserver.infra.svc.cluster.local"}

// mustPlan plans, and fails the test where that fails.
func mustPlan(t *testing.T, s state, now time.Time, names []string, published bool) (state, []change) {
	t.Helper()
	next, changes, err := s.plan(now, names, published)
	if err != nil {
		t.Fatal(err)
	}
	return next, changes
}

// fresh is the state that a plan makes of nothing.
func fresh(t *testing.T, now time.Time) state {
	t.Helper()
	s, changes := mustPlan(t, state{}, now, names, false)
	if len(changes) != 2 || len(s.trusted) != 1 || s.leaf == nil {
		t.Fatalf("of nothing: %v, %d authorities", changes, len(s.trusted))
	}
	return s
}
