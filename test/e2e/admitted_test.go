//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// admitted is what admission is tried on: Infras with a label of the test's own.
type admitted struct {
	label  string
	infras typed.InfraInterface
	// one is there from the start; doomed and denied are to be deleted, of which
	// denied must not be.
	one, doomed, denied string
}

const admissionLabel = "e2e-admission"

// newAdmitted makes the objects, before any policy is in force.
func newAdmitted(t *testing.T) *admitted {
	t.Helper()
	a := &admitted{label: harness.Name(t), infras: plane.Admin().Infra.SocialwebV1alpha1().Infras()}
	a.one, a.doomed, a.denied = a.label+"-one", a.label+"-doomed", a.label+"-denied"
	for name, description := range map[string]string{a.one: "fine", a.doomed: "fine", a.denied: "denied"} {
		if _, err := a.infras.Create(t.Context(), a.object(name, description), metav1.CreateOptions{}); err != nil {
			t.Fatal(harness.Explain(err))
		}
	}
	t.Cleanup(func() { // the policy has just gone: the replicas may not know yet
		ctx := context.WithoutCancel(t.Context())
		for _, name := range a.names(t, ctx) {
			if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
				return a.infras.Delete(ctx, name, metav1.DeleteOptions{}) == nil, nil
			}); err != nil {
				t.Errorf("deleting %s: %v", name, err)
			}
		}
	})
	return a
}

func (a *admitted) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: a.labels()}
}

func (a *admitted) labels() map[string]string { return map[string]string{admissionLabel: a.label} }

func (a *admitted) object(name, description string) *v1alpha1.Infra {
	o := harness.NewInfra(name)
	o.Labels = a.labels()
	o.Spec.Description = description
	return o
}

func (a *admitted) list(t *testing.T, ctx context.Context) []v1alpha1.Infra {
	t.Helper()
	l, err := a.infras.List(ctx, metav1.ListOptions{LabelSelector: labels.FormatLabels(a.labels())})
	if err != nil {
		t.Fatal(harness.Explain(err))
	}
	return l.Items
}

func (a *admitted) names(t *testing.T, ctx context.Context) []string {
	t.Helper()
	var out []string
	for _, o := range a.list(t, ctx) {
		out = append(out, o.Name)
	}
	return out
}

// state is what the objects are, as far as requests say.
func (a *admitted) state(t *testing.T) string {
	t.Helper()
	var out []string
	for _, o := range a.list(t, t.Context()) {
		out = append(out, fmt.Sprintf("%s: %s %s %v", o.Name, o.Spec.Description, o.Status.Phase, o.Labels))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// update calls write with the object as it is, which the publisher of its status changes
// meanwhile, too.
func (a *admitted) update(ctx context.Context, write func(*v1alpha1.Infra) error) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		o, err := a.infras.Get(ctx, a.one, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return write(o)
	})
}

// verb is one way to write. A description says what the request asks for, or a phase
// where it is of the status, or which object is deleted.
type verb struct {
	name string
	do   func(ctx context.Context, description string, phase v1alpha1.DeploymentPhase) error
}

func (a *admitted) verbs() []verb {
	body := func(name, description string) []byte {
		return fmt.Appendf(nil, `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":%q,"labels":{%q:%q}},"spec":{"description":%q}}`,
			name, admissionLabel, a.label, description)
	}
	apply := func(ctx context.Context, name, description string) error {
		_, err := a.infras.Patch(ctx, name, types.ApplyPatchType, body(name, description), metav1.PatchOptions{FieldManager: "e2e", Force: new(bool)})
		return err
	}
	patch := func(kind types.PatchType, format string, sub ...string) func(context.Context, string, v1alpha1.DeploymentPhase) error {
		return func(ctx context.Context, description string, phase v1alpha1.DeploymentPhase) error {
			word := description
			if len(sub) > 0 {
				word = string(phase)
			}
			_, err := a.infras.Patch(ctx, a.one, kind, fmt.Appendf(nil, format, word), metav1.PatchOptions{}, sub...)
			return err
		}
	}
	return []verb{
		{"create", func(ctx context.Context, d string, _ v1alpha1.DeploymentPhase) error {
			_, err := a.infras.Create(ctx, a.object(a.label+"-created", d), metav1.CreateOptions{})
			return err
		}},
		{"generateName", func(ctx context.Context, d string, _ v1alpha1.DeploymentPhase) error {
			o := a.object("", d)
			o.GenerateName = a.label + "-g-"
			_, err := a.infras.Create(ctx, o, metav1.CreateOptions{})
			return err
		}},
		{"apply of a new object", func(ctx context.Context, d string, _ v1alpha1.DeploymentPhase) error {
			return apply(ctx, a.label+"-applied", d)
		}},
		{"apply", func(ctx context.Context, d string, _ v1alpha1.DeploymentPhase) error {
			return apply(ctx, a.label+"-applied", strings.Replace(d, "fine", "finer", 1))
		}},
		{"update", func(ctx context.Context, d string, _ v1alpha1.DeploymentPhase) error {
			return a.update(ctx, func(o *v1alpha1.Infra) error {
				o.Spec.Description = d
				_, err := a.infras.Update(ctx, o, metav1.UpdateOptions{})
				return err
			})
		}},
		{"merge patch", patch(types.MergePatchType, `{"spec":{"description":%q}}`)},
		{"strategic merge patch", patch(types.StrategicMergePatchType, `{"spec":{"description":%q}}`)},
		{"JSON patch", patch(types.JSONPatchType, `[{"op":"replace","path":"/spec/description","value":%q}]`)},
		{"update of the status", func(ctx context.Context, _ string, phase v1alpha1.DeploymentPhase) error {
			return a.update(ctx, func(o *v1alpha1.Infra) error {
				o.Status.Phase = phase
				_, err := a.infras.UpdateStatus(ctx, o, metav1.UpdateOptions{})
				return err
			})
		}},
		{"patch of the status", patch(types.MergePatchType, `{"status":{"phase":%q}}`, "status")},
		{"delete", func(ctx context.Context, d string, _ v1alpha1.DeploymentPhase) error {
			name := a.doomed
			if d == "denied" {
				name = a.denied
			}
			return a.infras.Delete(ctx, name, metav1.DeleteOptions{})
		}},
		{"deletecollection", func(ctx context.Context, d string, _ v1alpha1.DeploymentPhase) error {
			name := a.label + "-created"
			if d == "denied" {
				name = a.denied
			}
			return a.infras.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		}},
	}
}
