package repostore

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testpds"
)

// TestCrashMatrix kills a process at every step of every operation, while etcd
// and the PDS live on. The next process finds what was acknowledged whole, and
// the operation all or nothing; an acknowledged one is all there; no intent
// outlives its term.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	pds := testpds.StartDev(t, testpds.Options{})
	base := crashCase{
		Endpoint: sharedEndpoint(t), PDS: pds.URL, PLC: pds.PLCURL,
		Account: pds.Accounts[0].Handle, Password: pds.Accounts[0].Password,
	}
	deaths := 0
	for _, scenario := range slices.Sorted(maps.Keys(crashScenarios)) {
		t.Run(scenario, func(t *testing.T) {
			c := base
			c.Scenario = scenario
			steps := c.die(t, "")
			if len(steps) == 0 {
				t.Fatal("the operation has no steps")
			}
			for i, step := range steps {
				if raced && i != len(steps)/2 {
					continue // a child takes seconds to start then; all steps are killed at without the detector
				}
				c.die(t, step)
				deaths++
			}
			t.Logf("%d steps: %s", len(steps), strings.Join(steps, ", "))
		})
	}
	t.Logf("%d deaths", deaths)
}

var crashes int

// die runs a child that is killed at a step, and looks at what it left. With no
// step the child lives; its steps are returned.
func (c crashCase) die(t *testing.T, step string) (steps []string) {
	t.Helper()
	crashes++
	c.Prefix, c.Name = fmt.Sprintf("/test/crash%d", crashes), fmt.Sprintf("o%d", crashes)
	if step != "" {
		var nth string
		c.Point, nth, _ = strings.Cut(step, " ")
		if _, err := fmt.Sscan(nth, &c.Nth); err != nil {
			t.Fatal(err)
		}
	}
	clk := &jumpClock{}
	r, done, err := c.open(t.Context(), clk, "parent")
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	r.t = t
	s := crashScenarios[c.Scenario]
	if err := s.before(r.ctx(), r, c.Name); err != nil {
		t.Fatalf("before: %v", err)
	}
	out, killed := c.spawn(t)
	if killed != (step != "") {
		t.Fatalf("at %q: killed %v, output %s", step, killed, out)
	}
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "step "); ok {
			steps = append(steps, name)
		}
	}
	// The next process, after the term.
	next, done2, err := c.open(t.Context(), clk, "next")
	if err != nil {
		t.Fatal(err)
	}
	defer done2()
	next.t = t
	clk.jump(2 * time.Hour)
	next.hub.sweep(next.ctx(), atOnce)
	if left := next.keysBelow("intents"); len(left) > 0 {
		t.Errorf("at %q: an intent outlives its term: %q", step, left)
	}
	c.checkAfter(t, next, s, step, strings.Contains(out, "acknowledged"))
	if _, err := next.m().Repo.DeleteRecord(t.Context(), recordKey(c.Name), atproto.Swap{Any: true}); err != nil {
		t.Fatal(err) // the next case lists the repository too
	}
	return steps
}

func (c crashCase) checkAfter(t *testing.T, r *replica, s crashScenario, step string, acknowledged bool) {
	t.Helper()
	all, err := r.list(r.ctx())
	if err != nil {
		t.Fatalf("at %q: list after it: %v", step, err)
	}
	obj := all[c.Name]
	var record map[string]any
	rec, err := r.m().Repo.GetRecord(t.Context(), recordKey(c.Name))
	switch {
	case err == nil:
		record = rec.Value
	case !errors.Is(err, atproto.ErrRecordNotFound):
		t.Fatal(err)
	}
	switch {
	case s.whole(obj, record):
	case acknowledged || s.nothing == nil:
		t.Errorf("at %q: not whole (acknowledged %v): object %+v, record %v", step, acknowledged, obj, record)
	case !s.nothing(obj, record):
		t.Errorf("at %q: neither whole nor nothing: object %+v, record %v", step, obj, record)
	}
}

// spawn runs this test's binary as the child.
func (c crashCase) spawn(t *testing.T) (out string, killed bool) {
	t.Helper()
	spec, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crashChildEnv+"="+string(spec))
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return string(b), false
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return string(b), true
	default:
		t.Fatalf("child: %v: %s", err, b)
		return "", false
	}
}
