package kubectlinfra

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// states of an Infra's contracts, in order.
func states(o *v1alpha1.Infra) string {
	var out []string
	for _, c := range o.Spec.Contracts {
		out = append(out, c.Name+"="+string(c.State))
	}
	return strings.Join(out, " ")
}

func testMove(t *testing.T, p plugin) {
	list := contracts("a", "b", "c")
	list[1].Policy = "cheapest"
	p.create(t, "move", list...)
	for _, c := range []struct{ args, out, states string }{
		{"request move b a", "infra.socialweb.computer/move contract/b requested\ninfra.socialweb.computer/move contract/a requested\n", "a=Requested b=Requested c=Staged"},
		{"request move b", "infra.socialweb.computer/move contract/b requested (no change)\n", "a=Requested b=Requested c=Staged"},
		{"release infra/move b", "infra.socialweb.computer/move contract/b released\n", "a=Requested b=Released c=Staged"},
		{"stage move --all", "infra.socialweb.computer/move contract/a staged\ninfra.socialweb.computer/move contract/b staged\n" +
			"infra.socialweb.computer/move contract/c staged (no change)\n", "a=Staged b=Staged c=Staged"},
	} {
		if out := p.run(t, strings.Fields(c.args)...); out != c.out {
			t.Errorf("%s: %s", c.args, cmp.Diff(c.out, out))
		}
		o := p.get(t, "move")
		if got := states(o); got != c.states || o.Spec.Contracts[1].Policy != "cheapest" {
			t.Errorf("%s: %s, policy %q, want %s", c.args, got, o.Spec.Contracts[1].Policy, c.states)
		}
	}
	e := &v1alpha1.EphemeralInfra{ObjectMeta: metav1.ObjectMeta{Name: "move"}, Spec: v1alpha1.EphemeralInfraSpec{InfraSpec: v1alpha1.InfraSpec{Contracts: contracts("x")}}}
	api := p.Client.SocialwebV1alpha1().EphemeralInfras()
	if _, err := api.Create(t.Context(), e, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"request", "einf/move", "x"}, {"request", "EphemeralInfras.socialweb.computer/move", "x"}, {"request", "--ephemeral", "move", "--all"}} {
		if out := p.run(t, args...); !strings.HasPrefix(out, "ephemeralinfra.socialweb.computer/move contract/x requested") {
			t.Errorf("%v: %s", args, out)
		}
	}
	p.observe(t, "move", func(s *v1alpha1.InfraStatus) {
		s.Contracts = []v1alpha1.ContractStatus{{Name: "a", Phase: v1alpha1.ContractPhaseFailed}}
	})
	if r := p.do(t.Context(), "request", "move", "a"); r.code != 0 || r.err != "Warning: contract a is Failed, which is final: stage it first to request it anew\n" {
		t.Errorf("a request of a failed one: %+v", r)
	}
}

// afterRead does something once between a read of an object and the patch of it.
type afterRead struct {
	http.RoundTripper
	once sync.Once
	do   func()
	sent []string
}

func (a *afterRead) RoundTrip(r *http.Request) (*http.Response, error) {
	a.sent = append(a.sent, r.Method)
	if r.Method == http.MethodPatch {
		a.once.Do(a.do)
	}
	return a.RoundTripper.RoundTrip(r)
}

// testMoveConflict: what somebody else changed in between is seen, and stays.
func testMoveConflict(t *testing.T, p plugin) {
	p.create(t, "contested", contracts("a", "b")...)
	between := &afterRead{do: func() {
		p.change(t, "contested", func(o *v1alpha1.Infra) { o.Spec.Contracts = append(o.Spec.Contracts[1:], contracts("c")...) })
	}}
	config := rest.CopyConfig(p.Config)
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { between.RoundTripper = rt; return between })
	api, err := typed.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	m := &move{verb: verbs[0], all: true, dryRun: "none", Streams: Streams{Out: &out, Err: &out}}
	if err := m.run(t.Context(), &client{api: api}, target{infras, "contested"}, nil); err != nil {
		t.Fatal(err)
	}
	// Twice, or more often where the server marks it as being in sync meanwhile.
	tries := len(between.sent) / 2
	if got, sent := states(p.get(t, "contested")), strings.Join(between.sent, " "); got != "b=Requested c=Requested" || tries < 2 || sent != strings.TrimSpace(strings.Repeat("GET PATCH ", tries)) {
		t.Errorf("%s after %s\n%s", got, sent, &out)
	}
}

func testMoveOutput(t *testing.T, p plugin) {
	p.create(t, "printed", contracts("a")...)
	for _, mode := range []string{"client", "server"} {
		out := p.run(t, "request", "printed", "a", "-o", "yaml", "--dry-run", mode)
		var o v1alpha1.Infra
		if err := yaml.Unmarshal([]byte(out), &o); err != nil || o.Kind != "Infra" || states(&o) != "a=Requested" {
			t.Errorf("--dry-run=%s: %v\n%s", mode, err, out)
		}
	}
	if out := p.run(t, "request", "printed", "a", "--dry-run", "server"); out != "infra.socialweb.computer/printed contract/a requested (server dry run)\n" {
		t.Error(out)
	}
	if got := states(p.get(t, "printed")); got != "a=Staged" {
		t.Errorf("after dry runs: %s", got)
	}
	if out := p.run(t, "request", "printed", "a", "-o", "name"); out != "infra.socialweb.computer/printed\n" {
		t.Error(out)
	}
	var o v1alpha1.Infra
	if err := json.Unmarshal([]byte(p.run(t, "release", "printed", "a", "-o", "json")), &o); err != nil || states(&o) != "a=Released" || o.APIVersion != "socialweb.computer/v1alpha1" {
		t.Errorf("%v, %+v", err, o)
	}
	managed := func(m metav1.ManagedFieldsEntry) bool { return m.Manager == "kubectl-infra" }
	if m := p.get(t, "printed").ManagedFields; !slices.ContainsFunc(m, managed) {
		t.Errorf("field managers: %v", m)
	}
}

// testRefusals: in kubectl's words, with its exit code.
func testRefusals(t *testing.T, p plugin) {
	p.create(t, "refusals", contracts("front", "back")...)
	p.create(t, "empty")
	const help = "\nSee 'kubectl infra request -h' for help and examples"
	for _, c := range []struct {
		want string
		args []string
	}{
		{`Error from server (NotFound): infras.socialweb.computer "none" not found`, []string{"request", "none", "a"}},
		{`Error from server (NotFound): ephemeralinfras.socialweb.computer "none" not found`, []string{"tree", "einf/none"}},
		{`error: infra refusals has no contract "db", "web": there are front, back`, []string{"release", "refusals", "front", "db", "web"}},
		{`error: infra empty declares no contract`, []string{"stage", "empty", "--all"}},
		{`error: required deployment not specified` + help, []string{"request"}},
		{`error: required contract not specified` + help, []string{"request", "refusals"}},
		{`error: contracts cannot be named when --all is set` + help, []string{"request", "refusals", "front", "--all"}},
		{`error: "pods" is none of the resource types that this command takes: infra, ephemeralinfra`, []string{"record", "pods/web"}},
		{`error: arguments in resource/name form must have a single resource and name: "infra/"`, []string{"record", "infra/"}},
		{"error: unknown flag: --al\nSee 'kubectl infra stage --help' for usage.", []string{"stage", "refusals", "--al"}},
		{`error: unknown command "trees" for "kubectl infra": there is tree` + "\nSee 'kubectl infra -h' for help and examples", []string{"trees"}},
		{`error: unknown command "get" for "kubectl infra"` + "\nSee 'kubectl infra -h' for help and examples", []string{"get", "web"}},
		{`error: context "none" does not exist`, []string{"tree", "refusals", "--context", "none"}},
		{`error: unrecognized condition: "phase=Up": the phases are Staged, Deploying, Deployed, Releasing, Released, Degraded, Ending, Deleting`, []string{"wait", "refusals", "--for", "phase=Up"}},
		{`error: unrecognized condition: "Deployed": it is phase=PHASE, contract/CONTRACT=PHASE or delete`, []string{"wait", "refusals", "--for", "Deployed"}},
		{`error: infra refusals has no contract "db": there are front, back`, []string{"wait", "refusals", "--for", "contract/db=Deployed"}},
	} {
		p.fails(t, 1, c.want, c.args...)
	}
	refused := p.do(t.Context(), "tree", "refusals", "--server", "https://127.0.0.1:1")
	if want := "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?\n"; refused.code != 1 || refused.err != want {
		t.Errorf("nothing listens: %+v", refused)
	}
	if r := p.do(t.Context(), "request", "refusals", "front", "--as", "nobody"); r.code != 1 || !strings.HasPrefix(r.err, "Error from server (Forbidden): ") {
		t.Errorf("without rights: %+v", r)
	}
	if got := states(p.get(t, "refusals")); got != "front=Staged back=Staged" {
		t.Errorf("after refusals: %s", got)
	}
}
