package harness

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
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
	repo, err := repos.Create(ctx, repo, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("AtprotoRepo: %w", err)
	}
	if err := eventually(ctx, func(ctx context.Context) error {
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
	}); err != nil {
		return err
	}
	return p.granted(ctx, name, repo.Spec.Access)
}

// Granted waits until every replica grants an access to an AtprotoRepo's account.
func (p *Plane) Granted(t testing.TB, name string, access v1alpha1.RepoAccess) {
	t.Helper()
	if err := p.granted(t.Context(), name, access); err != nil {
		t.Fatal(err)
	}
}

// granted asks the replicas: an AtprotoRepo's status is the word of one of them, and each
// follows it by itself.
func (p *Plane) granted(ctx context.Context, name string, access v1alpha1.RepoAccess) error {
	for _, r := range p.Replicas {
		c, err := newClients(r.Direct(p.Config()))
		if err != nil {
			return err
		}
		if err := eventually(ctx, func(ctx context.Context) error {
			err := tryRepo(ctx, c.Infra.SocialwebV1alpha1().Infras(), name)
			if access == v1alpha1.AccessReadWrite {
				return err
			}
			if refusal := fmt.Sprintf("%q is %s:", name, access); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), refusal) {
				return fmt.Errorf("no refusal with %s: %v", refusal, err) //nolint:errorlint // there may be none
			}
			return nil
		}); err != nil {
			return fmt.Errorf("%s: AtprotoRepo %s: %w", r.Name, name, err)
		}
	}
	return nil
}

// tryRepo makes an Infra with a record in the account of an AtprotoRepo, and deletes it.
func tryRepo(ctx context.Context, infras typed.InfraInterface, repo string) error {
	o := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{GenerateName: "try-"}}
	o.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: repo}}
	o, err := infras.Create(ctx, o, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return eventually(ctx, func(ctx context.Context) error {
		if err := infras.Delete(ctx, o.Name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}
