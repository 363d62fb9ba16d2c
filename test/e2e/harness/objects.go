package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Name is one that no other test uses: after the test's own, as far as it fits.
func Name(t testing.TB) string {
	t.Helper()
	base := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		default:
			return '-'
		}
	}, strings.ToLower(strings.TrimPrefix(t.Name(), "Test")))
	return strings.Trim(base[:min(len(base), 40)], "-") + "-" + rand.String(5)
}

// NewInfra is an Infra of a name with one contract, not yet created.
func NewInfra(name string) *v1alpha1.Infra {
	return &v1alpha1.Infra{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Infra"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.InfraSpec{Description: "of " + name, Contracts: []v1alpha1.Contract{{Name: "web"}}},
	}
}

// Infra creates an Infra with a name of its own, which it returns. It is deleted at
// the test's end.
func (p *Plane) Infra(t testing.TB, change ...func(*v1alpha1.Infra)) string {
	t.Helper()
	o := NewInfra(Name(t))
	for _, f := range change {
		f(o)
	}
	if _, err := p.clients.Infra.SocialwebV1alpha1().Infras().Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(Explain(err))
	}
	t.Cleanup(func() { p.RemoveInfra(t, o.Name) })
	return o.Name
}

// RemoveInfra deletes an Infra if it is there. It is for cleanups.
func (p *Plane) RemoveInfra(t testing.TB, name string) {
	t.Helper()
	err := p.clients.Infra.SocialwebV1alpha1().Infras().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// Eventually asks until there is no error; the test fails where that takes longer
// than a start may.
func Eventually(t testing.TB, ask func(context.Context) error) {
	t.Helper()
	if err := eventually(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
}

// Poll is Eventually for who may not end the test. The error is the last that ask
// returned, or ctx's.
func Poll(ctx context.Context, ask func(context.Context) error) error {
	return eventually(ctx, ask)
}

// Available waits until the APIService's condition Available is as wanted, and where it is
// to be, until requests through the aggregator come to us and discovery has our kinds.
func (p *Plane) Available(t testing.TB, want bool) {
	t.Helper()
	Eventually(t, func(ctx context.Context) error { return p.availableIs(ctx, want) })
}

// Explain is an error with what the server said about its causes: what comes from
// the aggregator itself is no Status, and client-go hides its text there.
func Explain(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return err
	}
	for _, c := range status.Status().Details.Causes {
		err = fmt.Errorf("%w: %s %s", err, c.Type, c.Message)
	}
	return err
}
