package api

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// faultCase is a fault and what may be answered while it lasts.
type faultCase struct {
	fault  testproxy.Fault
	reads  []int // consistent GETs and LISTs
	writes []int // of a declaration
	// sound: the fault doesn't touch every read, so one that succeeds must be right.
	sound bool
}

const (
	unavailable = http.StatusServiceUnavailable
	timedOut    = http.StatusGatewayTimeout
	tooMany     = http.StatusTooManyRequests
	fine        = http.StatusOK
)

func faultCases() []faultCase {
	only := func(codes ...int) []int { return codes }
	return []faultCase{
		{testproxy.Fault{Kind: testproxy.Refused}, only(unavailable), only(unavailable, timedOut), false},
		{testproxy.Fault{Kind: testproxy.Hung}, only(unavailable, timedOut), only(timedOut), false},
		{testproxy.Fault{Kind: testproxy.Slow, Delay: 300 * time.Millisecond}, only(fine), only(fine), true},
		{testproxy.Fault{Kind: testproxy.Status500}, only(unavailable), only(timedOut), false},
		{testproxy.Fault{Kind: testproxy.Status429, Reset: 3 * time.Second}, only(tooMany), only(tooMany), false},
		{testproxy.Fault{Kind: testproxy.NotFound}, only(unavailable), only(unavailable), false},
		{testproxy.Fault{Kind: testproxy.Garbage}, only(unavailable), only(timedOut), false},
		{testproxy.Fault{Kind: testproxy.Truncated}, only(unavailable), only(timedOut), false},
		{testproxy.Fault{Kind: testproxy.LostAnswer}, only(unavailable), only(timedOut), false},
		{testproxy.Fault{Kind: testproxy.WrongCID}, only(unavailable, fine), only(unavailable, timedOut, fine), true},
		{testproxy.Fault{Kind: testproxy.AlteredRecord}, only(unavailable, fine), only(unavailable, timedOut, fine), true},
		{testproxy.Fault{Kind: testproxy.Revoked}, only(fine), only(fine), true},
		{testproxy.Fault{Kind: testproxy.LockedOut}, only(fine), only(unavailable), true},
	}
}

// faultOp is one request under a fault. Each has an object of its own.
type faultOp struct {
	name    string
	request request
	allowed func(faultCase) []int
}

func reads(c faultCase) []int { return c.reads }

// missing reads may say 404 where the PDS can say so.
func missing(c faultCase) []int {
	if slices.Contains(c.reads, fine) {
		return append(slices.Clone(c.reads), http.StatusNotFound)
	}
	return c.reads
}

func writes(c faultCase) []int {
	if slices.Contains(c.writes, fine) {
		return append(slices.Clone(c.writes), http.StatusCreated)
	}
	return c.writes
}

// both reads and writes are needed.
func both(c faultCase) []int { return append(slices.Clone(c.reads), writes(c)...) }

func unharmed(faultCase) []int { return []int{fine} }

// faultObjects are there before the fault, and have records.
var faultObjects = []string{"get", "patch", "label", "status", "delete"}

func faultOps() []faultOp {
	patch := func(name, body string) request {
		return request{method: http.MethodPatch, path: infras + "/" + name, kind: mergePatch, body: body}
	}
	return []faultOp{
		{"GET", request{path: infras + "/get"}, reads},
		{"GET of what is not there", request{path: infras + "/missing"}, missing},
		{"LIST", request{path: infras}, reads},
		{"PATCH of the declaration", patch("patch", `{"spec":{"description":"patched"}}`), writes},
		{"CREATE", request{method: http.MethodPost, path: infras, body: manifest("create", "made")}, both},
		{"DELETE", request{method: http.MethodDelete, path: infras + "/delete"}, both},
		{"PATCH of a label", patch("label", `{"metadata":{"labels":{"l":"set"}}}`), unharmed},
		{"PATCH of the status", patch("status/status", `{"status":{"phase":"Deploying"}}`), unharmed},
		{"GET from the cache", request{path: infras + "/get?resourceVersion=0"}, unharmed},
		{"LIST from the cache", request{path: infras + "?resourceVersion=0"}, unharmed},
	}
}

// manifest is an Infra as JSON.
func manifest(name, description string) record {
	return record{
		"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "Infra", "metadata": record{"name": name},
		"spec": record{"description": description, "contracts": []any{record{"name": "web"}}},
	}
}

// TestFaultsOfThePDS: whatever is wrong with the PDS, what needs it is answered
// 503, 504 or 429 with a Retry-After and the name of the repository, never as if
// there were nothing; what doesn't need it goes on; and when the fault is over all
// works again, and objects and records agree.
func TestFaultsOfThePDS(t *testing.T) {
	t.Parallel()
	for _, c := range faultCases() {
		t.Run(c.fault.Kind.String(), func(t *testing.T) {
			t.Parallel()
			f := &faultRun{env: newEnv(t, onEmbedded(t)), faultCase: c, answers: map[string]int{}}
			for _, name := range faultObjects {
				f.create(t, newInfra(name, "before"))
			}
			f.awaitRepo(t, v1alpha1.ConditionStreaming, "True")
			f.inCache(t, faultObjects...)
			w := f.watch(t, infras+"?watch=1&resourceVersion="+f.rv(t))
			f.proxy.Set(c.fault)
			f.all(t)
			w.until(t, "label", func(i *v1alpha1.Infra) bool { return i.Labels["l"] == "set" })
			late := f.watch(t, infras+"?watch=1&resourceVersion=0")
			late.until(t, "status", func(i *v1alpha1.Infra) bool { return i.Status.Phase == v1alpha1.PhaseDeploying })
			waitFor(t, "readyz", func() error { // etcd may be slow beside so many tests
				if a := f.do(t, request{path: "/readyz"}); a.status != fine {
					return fmt.Errorf("%d %s", a.status, a.body)
				}
				return nil
			})
			f.proxy.Clear()
			f.recovers(t)
		})
	}
}

// judge says what is wrong with an answer.
func (f *faultRun) judge(op faultOp, a answer) error {
	if a.err != nil {
		return a.err
	}
	if allowed := op.allowed(f.faultCase); !slices.Contains(allowed, a.status) {
		return fmt.Errorf("%d, not one of %v: %s", a.status, allowed, a.body)
	}
	for _, secret := range append(f.proxy.Tokens(), f.account.Password) {
		if strings.Contains(a.body, secret) {
			return fmt.Errorf("a secret in %s", a.body)
		}
	}
	switch {
	case a.status == fine && strings.HasPrefix(op.name, "LIST"):
		for _, n := range []string{"get", "patch", "label", "status"} {
			if err := contains(a.body, `"name":"`+n+`"`); err != nil {
				return err
			}
		}
	case a.status == unavailable || a.status == timedOut || a.status == tooMany:
		if n, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || n < 1 {
			return fmt.Errorf("Retry-After %q with %s", a.header.Get("Retry-After"), a.body)
		}
		return contains(a.failure.Message, f.account.DID)
	}
	return nil
}
