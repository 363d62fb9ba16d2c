package kubectlinfra

import (
	"bytes"
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/internal/testwait"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

func TestMain(m *testing.M) { testdev.Main(m) }

// result of a command line.
type result struct {
	out, err string
	code     int
}

// plugin runs command lines against one server.
type plugin struct{ *testdev.Dev }

// do runs the plugin as its main function does.
func (p plugin) do(ctx context.Context, args ...string) result {
	var out, errOut bytes.Buffer
	code := Run(ctx, append(args, "--kubeconfig", p.Kubeconfig), Streams{Out: &out, Err: &errOut, Clock: testingclock.NewFakePassiveClock(time.Now())})
	return result{out.String(), errOut.String(), code}
}

// run is do of what must succeed.
func (p plugin) run(t *testing.T, args ...string) string {
	t.Helper()
	r := p.do(t.Context(), args...)
	if r.code != 0 {
		t.Fatalf("kubectl infra %v: exit %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// fails is do of what must fail, with what it must say.
func (p plugin) fails(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	if r := p.do(t.Context(), args...); r.code != code || r.err != want+"\n" || r.out != "" {
		t.Errorf("kubectl infra %v: exit %d, want %d\n%s\nwant %s\n%s", args, r.code, code, r.err, want, r.out)
	}
}

// contracts of a spec, staged.
func contracts(names ...string) []v1alpha1.Contract {
	out := make([]v1alpha1.Contract, len(names))
	for i, name := range names {
		out[i] = v1alpha1.Contract{Name: name, State: v1alpha1.ContractStaged}
	}
	return out
}

func (p plugin) create(t *testing.T, name string, list ...v1alpha1.Contract) *v1alpha1.Infra {
	t.Helper()
	o := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.InfraSpec{Description: "of " + name, Contracts: list}}
	o, err := p.Client.SocialwebV1alpha1().Infras().Create(t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (p plugin) get(t *testing.T, name string) *v1alpha1.Infra {
	t.Helper()
	o, err := p.Client.SocialwebV1alpha1().Infras().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// change edits an Infra as it is now, again where it has changed meanwhile: the server
// marks an object that was written as being in sync a moment later.
func (p plugin) change(t *testing.T, name string, edit func(*v1alpha1.Infra)) {
	t.Helper()
	p.write(t, name, edit, func(o *v1alpha1.Infra) error {
		_, err := p.Client.SocialwebV1alpha1().Infras().Update(t.Context(), o, metav1.UpdateOptions{})
		return err
	})
}

// observe sets the status of an Infra as its controller would.
func (p plugin) observe(t *testing.T, name string, change func(*v1alpha1.InfraStatus)) {
	t.Helper()
	p.write(t, name, func(o *v1alpha1.Infra) { change(&o.Status) }, func(o *v1alpha1.Infra) error {
		_, err := p.Client.SocialwebV1alpha1().Infras().UpdateStatus(t.Context(), o, metav1.UpdateOptions{})
		return err
	})
}

func (p plugin) write(t *testing.T, name string, edit func(*v1alpha1.Infra), put func(*v1alpha1.Infra) error) {
	t.Helper()
	testwait.Until(t, "a write of "+name, func() error {
		o := p.get(t, name)
		edit(o)
		err := put(o)
		if err != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		return err
	})
}

// TestPlugin runs its cases on one server.
func TestPlugin(t *testing.T) {
	p := plugin{testdev.Start(t, testdev.Options{})}
	for name, run := range map[string]func(*testing.T, plugin){
		"request, stage, release":   testMove,
		"a conflict is tried again": testMoveConflict,
		"dry run and output":        testMoveOutput,
		"refusals":                  testRefusals,
		"record":                    testRecord,
		"record beyond the kind":    testRecordBeyond,
		"an invalid record":         testRecordInvalid,
		"wait for a phase":          testWaitPhase,
		"wait for the end":          testWaitDelete,
		"completion":                testCompletion,
		"tree of a collection":      testTreeCollection,
		"tree":                      testTree,
	} {
		t.Run(name, func(t *testing.T) { run(t, p) })
	}
}
