package servingcert

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/certpair"
)

const (
	fieldManager = "infra-apiserver-serving-cert"
	// lookInterval is between two looks at Secret and APIService, whether or not a
	// watch told something: a caBundle that somebody reset is put back, and a watch
	// that isn't allowed costs a delay alone.
	lookInterval = time.Minute
	// earlyInterval is between two looks while there is no APIService: it is usable
	// only after it got its caBundle.
	earlyInterval = 5 * time.Second
	// retryInterval is between two looks while there is nothing to serve, or after
	// one failed.
	retryInterval = 2 * time.Second
	// lostRaces is how often in a row others may be faster.
	lostRaces = 10
)

// Config of a Rotator.
type Config struct {
	// Client reaches the cluster of the Secret.
	Client kubernetes.Interface
	// Namespace and Name of the Secret.
	Namespace, Name string
	// DNSNames that the certificate is for; at least one.
	DNSNames []string
	// APIServices reaches the APIService that gets the bundle; nil: none does.
	APIServices dynamic.ResourceInterface
	// APIService is its name.
	APIService string
	// Clock; nil is the real one.
	Clock clock.WithTicker
}

// Rotator keeps the Secret in order and gives what it holds to be served. It is a
// dynamiccertificates.CertKeyContentProvider. Until the Secret was read it serves a
// certificate of its own that nobody trusts, which is enough for probes.
type Rotator struct {
	content
	config   Config
	register registration
	wake     chan struct{}
	ready    atomic.Pointer[error] // its nil: what is served was the Secret's at some time

	// What follows is Run's alone. served is what is served, nil where it is the
	// Rotator's own; trusted are the authorities that the APIService was last seen
	// with.
	served  *certpair.Pair
	trusted []*x509.Certificate
	// unregistered says that the last look found no APIService.
	unregistered bool
}

// New returns a Rotator that serves its own certificate until Run has read the
// Secret.
func New(c Config) (*Rotator, error) {
	if len(c.DNSNames) == 0 {
		return nil, errors.New("serving certificate: no DNS names")
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	r := &Rotator{config: c, register: registration{c.APIServices, c.APIService}, wake: make(chan struct{}, 1)}
	ca, err := newAuthority(c.Clock.Now(), leafLifetime)
	if err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	own, err := newLeaf(c.Clock.Now(), leafLifetime, ca, c.DNSNames)
	if err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	if _, err := r.set(own); err != nil {
		return nil, err
	}
	notYet := fmt.Errorf("the serving certificate was not read yet from %s", r.ref())
	r.ready.Store(&notYet)
	return r, nil
}

// Ready fails until what is served is what the Secret holds, and says why. Later
// failures don't count: a good certificate stays good.
func (r *Rotator) Ready() error { return *r.ready.Load() }

// Run keeps Secret, APIService and what is served in order until ctx ends.
func (r *Rotator) Run(ctx context.Context) {
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		r.watch(ctx)
	}()
	defer func() { <-watching }()
	for ctx.Err() == nil {
		pause := lookInterval
		r.unregistered = false
		if err := r.look(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "The serving certificate was not brought up to date, will try again", "secret", r.ref())
			if r.Ready() != nil {
				r.ready.Store(&err)
			}
			pause = retryInterval
		} else if r.unregistered {
			pause = earlyInterval
		}
		timer := r.config.Clock.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// look does what is due, once.
func (r *Rotator) look(ctx context.Context) error {
	for range lostRaces {
		err := r.try(ctx)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return fmt.Errorf("secret %s: others were faster %d times in a row", r.ref(), lostRaces)
}

// try reads, plans, writes, makes others trust, and serves, in this order. It fails
// with a conflict where another replica was faster.
//
// The APIService is read before the Secret, because the Secret is written before the
// APIService: what the Secret then holds is never older than the bundle. A replica
// that was slow would put old authorities back otherwise.
func (r *Rotator) try(ctx context.Context) error {
	registered, registrationErr := r.register.get(ctx)
	r.unregistered = r.register.client != nil && registered == nil && registrationErr == nil
	secret, err := r.config.Client.CoreV1().Secrets(r.config.Namespace).Get(ctx, r.config.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		secret = nil
	case err != nil:
		return fmt.Errorf("secret %s: %w", r.ref(), err)
	}
	now := decode(secret)
	next, changes, err := now.plan(r.config.Clock.Now(), r.config.DNSNames, r.published(now, registered, registrationErr))
	if err != nil {
		return err
	}
	if len(changes) > 0 {
		if err := r.write(ctx, secret, next); err != nil {
			return fmt.Errorf("secret %s: %w", r.ref(), err)
		}
		klog.FromContext(ctx).Info("Serving certificate", "secret", r.ref(), "changes", changes, "validUntil", next.leaf.Cert.NotAfter)
	}
	if registrationErr == nil {
		registrationErr = r.publish(ctx, next, registered)
	}
	if apierrors.IsConflict(registrationErr) {
		return registrationErr
	}
	if registrationErr == nil {
		r.trusted = next.trusted
	}
	if err := r.serve(ctx, next.leaf); err != nil {
		return err
	}
	return registrationErr
}

// serve serves leaf, unless clients are not known to trust it and what is served
// now is still good.
func (r *Rotator) serve(ctx context.Context, leaf *certpair.Pair) error {
	if serves(r.served, r.config.Clock.Now(), r.config.DNSNames) && !slices.ContainsFunc(r.trusted, leaf.SignedBy) {
		return nil
	}
	changed, err := r.set(leaf)
	if err != nil {
		return err
	}
	if changed {
		klog.FromContext(ctx).Info("Serving another certificate", "secret", r.ref(), "validUntil", leaf.Cert.NotAfter)
	}
	r.served = leaf
	var none error
	r.ready.Store(&none)
	return nil
}

// published tells whether the newest authority of s is trusted by clients. Where no
// APIService is ours to look at, time alone has to do.
func (r *Rotator) published(s state, now *registered, err error) bool {
	if r.register.client == nil {
		return true
	}
	bundle, encodeErr := s.bundle()
	return err == nil && encodeErr == nil && (now == nil || bytes.Equal(now.bundle, bundle))
}

func (r *Rotator) publish(ctx context.Context, s state, now *registered) error {
	bundle, err := s.bundle()
	if err != nil {
		return fmt.Errorf("authorities: %w", err)
	}
	changed, err := r.register.put(ctx, now, bundle)
	if changed {
		klog.FromContext(ctx).Info("The APIService trusts the authorities of the Secret", "apiService", r.config.APIService, "secret", r.ref())
	}
	return err
}

// write stores s where nobody stored anything since secret was read; nil: where
// there was none.
func (r *Rotator) write(ctx context.Context, secret *corev1.Secret, s state) error {
	secrets := r.config.Client.CoreV1().Secrets(r.config.Namespace)
	if secret == nil {
		created := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.config.Namespace, Name: r.config.Name}, Type: corev1.SecretTypeTLS}
		if err := s.encodeInto(created); err != nil {
			return err
		}
		_, err := secrets.Create(ctx, created, metav1.CreateOptions{FieldManager: fieldManager})
		return err
	}
	updated := secret.DeepCopy()
	if err := s.encodeInto(updated); err != nil {
		return err
	}
	_, err := secrets.Update(ctx, updated, metav1.UpdateOptions{FieldManager: fieldManager})
	return err
}

func (r *Rotator) ref() klog.ObjectRef { return klog.KRef(r.config.Namespace, r.config.Name) }
