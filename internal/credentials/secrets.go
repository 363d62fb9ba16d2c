package credentials

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretGetter reads the Secrets of one namespace.
type SecretGetter interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Secret, error)
}

// Secrets finds credentials in Kubernetes Secrets of one namespace, named
// <workspace>.<name>. A workspace's name holds no dot, so the first one divides
// the two and no workspace can name another's.
type Secrets struct{ secrets SecretGetter }

var _ Provider = Secrets{}

// NewSecrets reads with g.
func NewSecrets(g SecretGetter) Secrets { return Secrets{g} }

// Get implements Provider.
func (s Secrets) Get(ctx context.Context, workspace, name string) (Credentials, error) {
	if err := checkNames(workspace, name); err != nil {
		return Credentials{}, err
	}
	secretName := workspace + "." + name
	secret, err := s.secrets.Get(ctx, secretName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Credentials{}, fmt.Errorf("%w: no Secret %s", ErrNotFound, secretName)
	}
	if err != nil {
		return Credentials{}, unavailable(workspace, name, err)
	}
	c, err := parse(secret.Data[IdentifierKey], secret.Data[PasswordKey], secret.Data[PDSKey])
	if err != nil {
		return Credentials{}, fmt.Errorf("credentials %s/%s: Secret %s: %w", workspace, name, secretName, err)
	}
	return c, nil
}

// unavailable is ErrUnavailable in words.
func unavailable(workspace, name string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("credentials %s/%s: %w", workspace, name, err)
	}
	return fmt.Errorf("%s/%s: %w: %s", workspace, name, ErrUnavailable, err.Error())
}
