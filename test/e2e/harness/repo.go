package harness

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// repo makes the default AtprotoRepo with its credentials, and waits until it can be
// read.
func (p *Plane) repo(ctx context.Context) error {
	if err := p.newRepo(ctx, RepoName, p.owner(), func(r *v1alpha1.AtprotoRepo) { r.Spec.Default = true }); err != nil {
		return err
	}
	return eventually(ctx, func(ctx context.Context) error {
		_, err := p.clients.Infra.SocialwebV1alpha1().Infras().List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
}

// NewRepo makes an AtprotoRepo of an account with its credentials, and waits until it
// is ready. It goes with the plane. The PDS is what change names, else the proxy.
func (p *Plane) NewRepo(t testing.TB, name string, a *Account, change ...func(*v1alpha1.AtprotoRepo)) {
	t.Helper()
	if err := p.newRepo(t.Context(), name, a, change...); err != nil {
		t.Fatal(Explain(err))
	}
}

func (p *Plane) newRepo(ctx context.Context, name string, a *Account, change ...func(*v1alpha1.AtprotoRepo)) error {
	repo := &v1alpha1.AtprotoRepo{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.AtprotoRepoSpec{
			DID: a.DID, PDS: p.Proxy.URL(), CredentialsRef: &v1alpha1.CredentialsReference{Name: name},
		},
	}
	for _, f := range change {
		f(repo)
	}
	if repo.Spec.CredentialsRef != nil {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "default." + name, Namespace: CredentialsNamespace},
			StringData: map[string]string{"identifier": a.DID, "password": a.Password, "pds": repo.Spec.PDS},
		}
		if _, err := p.clients.Core.CoreV1().Secrets(CredentialsNamespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("credentials: %w", err)
		}
	}
	repos := p.clients.Infra.SocialwebV1alpha1().AtprotoRepos()
	if _, err := repos.Create(ctx, repo, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("AtprotoRepo: %w", err)
	}
	return eventually(ctx, func(ctx context.Context) error {
		r, err := repos.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var said []string
		for _, c := range r.Status.Conditions {
			if c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionTrue {
				return nil
			}
			said = append(said, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Message))
		}
		return fmt.Errorf("AtprotoRepo %s is not ready: %s", name, strings.Join(said, "; "))
	})
}
