package etcdcerts

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/certpair"
)

// Keys of the Secrets.
const (
	caCert = "ca.crt"
	caKey  = "ca.key"
	// fieldManager writes them.
	fieldManager = "infra-apiserver-etcd-certificates"
)

// Ensure fills in what the Secrets lack and returns what etcd's files hold. The
// authority is written first: whatever stops in between, the next call finds a client
// certificate of another authority and makes a new one.
func Ensure(ctx context.Context, o Options) (map[string][]byte, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	var data map[string][]byte
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		ca, files, err := o.ensureServer(ctx)
		if err != nil {
			return err
		}
		data = files
		return o.ensureClient(ctx, ca)
	})
	return data, err
}

// ensureServer keeps the authority and etcd's own certificate.
func (o Options) ensureServer(ctx context.Context) (ca *certpair.Pair, data map[string][]byte, err error) {
	secret, err := o.get(ctx, o.ServerSecret)
	if err != nil {
		return nil, nil, err
	}
	now := o.Clock.Now()
	if ca = certpair.Parse(secret.Data[caCert], secret.Data[caKey]); !lasts(ca, now) {
		if ca, err = newAuthority(now); err != nil {
			return nil, nil, fmt.Errorf("authority: %w", err)
		}
	}
	leaf := certpair.Parse(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if !goodFor(leaf, now, ca, o.Names) {
		if leaf, err = newServer(now, ca, o.Names); err != nil {
			return nil, nil, fmt.Errorf("server certificate: %w", err)
		}
	}
	if data, err = files(leaf, ca); err != nil {
		return nil, nil, err
	}
	kept := maps.Clone(data)
	if _, kept[caKey], err = ca.Encode(); err != nil {
		return nil, nil, err
	}
	return ca, data, o.update(ctx, secret, kept, leaf.Cert.NotAfter)
}

// ensureClient keeps what the API server shows to etcd.
func (o Options) ensureClient(ctx context.Context, ca *certpair.Pair) error {
	secret, err := o.get(ctx, o.ClientSecret)
	if err != nil {
		return err
	}
	now := o.Clock.Now()
	leaf := certpair.Parse(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if !goodFor(leaf, now, ca, nil) {
		if leaf, err = newClient(now, ca); err != nil {
			return fmt.Errorf("client certificate: %w", err)
		}
	}
	data, err := files(leaf, ca)
	if err != nil {
		return err
	}
	return o.update(ctx, secret, data, leaf.Cert.NotAfter)
}

// files of a certificate, with the authority that the other side's is of.
func files(p, ca *certpair.Pair) (map[string][]byte, error) {
	out := map[string][]byte{}
	var err error
	if out[corev1.TLSCertKey], out[corev1.TLSPrivateKeyKey], err = p.Encode(); err != nil {
		return nil, err
	}
	out[caCert], _, err = ca.Encode()
	return out, err
}

func (o Options) get(ctx context.Context, name string) (*corev1.Secret, error) {
	secret, err := o.Client.CoreV1().Secrets(o.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", klog.KRef(o.Namespace, name), err)
	}
	return secret, nil
}

// update writes what a Secret should hold, if it doesn't.
func (o Options) update(ctx context.Context, secret *corev1.Secret, data map[string][]byte, until time.Time) error {
	if maps.EqualFunc(secret.Data, data, bytes.Equal) {
		return nil
	}
	updated := secret.DeepCopy()
	updated.Data = data
	if _, err := o.Client.CoreV1().Secrets(o.Namespace).Update(ctx, updated, metav1.UpdateOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("secret %s: %w", klog.KObj(secret), err)
	}
	klog.FromContext(ctx).Info("Certificates of etcd", "secret", klog.KObj(secret), "validUntil", until)
	return nil
}
