package repos

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

const (
	// probeCollection is where swapRecord is probed. A PDS that honours it never
	// writes what the probe asks for.
	probeCollection = "computer.socialweb.probe"
	// authEvery is how long an answer to our credentials counts.
	authEvery = 10 * time.Minute
	// resolveEvery is how soon the DID document of an account is read again whose
	// PDS fails.
	resolveEvery = time.Minute
	// unsettledEvery is how often a repository is looked at of which it isn't
	// known yet whether it is ready.
	unsettledEvery = 50 * time.Millisecond
)

// reconcile brings the hub and the status to what an AtprotoRepo asks for. again
// is when to look at it next, if nothing changes before; zero: never.
func (m *Manager) reconcile(ctx context.Context, k key) (again time.Duration, err error) {
	obj := m.mirror.get(k)
	m.Hub.ExpectDefault(k.workspace, k.name, obj != nil && obj.Spec.Default)
	if obj == nil {
		m.drop(k)
		m.mounted(k)
		return 0, nil
	}
	r := m.repoFor(k)
	defer r.reconciled()
	merr := m.mountKnown(k, r, obj)
	m.expect(k, r, obj, merr)
	if m.mounted(k); !m.allMounted() {
		m.queue.Add(k) // what asks the network waits until all that exist were mounted
		return 0, nil
	}
	if obj.DeletionTimestamp != nil {
		return m.terminate(ctx, k, r, obj)
	}
	err = errors.Join(merr, m.settle(ctx, k, r, obj))
	m.expect(k, r, obj, err)
	again, werr := m.writeStatus(ctx, k, r, obj)
	return again, errors.Join(err, werr)
}

// mountKnown mounts without asking the network, where what is known suffices. A
// repository that we may come to write waits until its PDS was probed, unless
// the server can't become ready before it is mounted.
func (m *Manager) mountKnown(k key, r *repo, obj *v1alpha1.AtprotoRepo) error {
	a, ok := known(obj)
	if !ok {
		return nil
	}
	if err := m.reach(k, r, obj, a); err != nil {
		return err
	}
	m.mu.Lock()
	starting := m.loading[k]
	m.mu.Unlock()
	if !starting && m.toProbe(r, obj) {
		return nil
	}
	m.mountWith(k, r, obj)
	return nil
}

// settle asks the network for what is missing, and mounts what comes of it.
func (m *Manager) settle(ctx context.Context, k key, r *repo, obj *v1alpha1.AtprotoRepo) error {
	if obj.Spec.Access == v1alpha1.AccessNone {
		return nil
	}
	err := m.resolveOnce(ctx, k, r, obj)
	if r.conn == nil {
		return err
	}
	if obj.Spec.Access == v1alpha1.AccessReadWrite && obj.Spec.CredentialsRef != nil {
		err = errors.Join(err, m.authorize(ctx, r))
		if m.toProbe(r, obj) {
			err = errors.Join(err, m.probe(ctx, r))
		}
	}
	m.mountWith(k, r, obj)
	return err
}

// resolveOnce reads the DID document once a connection, and again, once in a
// while, when the PDS that it named fails us: the account may have moved.
func (m *Manager) resolveOnce(ctx context.Context, k key, r *repo, obj *v1alpha1.AtprotoRepo) error {
	state, _ := m.Hub.RepoState(k.workspace, k.name)
	r.mu.Lock()
	moved := state.Err != nil && obj.Spec.PDS == "" && m.Clock.Since(r.resolvedAt) >= resolveEvery
	resolved := r.conn != nil && r.resolved && !moved
	r.mu.Unlock()
	if resolved {
		return nil
	}
	a, err := resolve(ctx, m.Identities, obj)
	if err == nil {
		err = m.reach(k, r, obj, a)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resolveErr, r.resolved = err, err == nil
	if err == nil {
		r.resolvedAt = m.Clock.Now()
		r.handle = a.handle
	}
	return err
}

// authorize asks the PDS whether it accepts our credentials, once in a while.
func (m *Manager) authorize(ctx context.Context, r *repo) error {
	r.mu.Lock()
	fresh := r.authorized == nil && m.Clock.Since(r.authChecked) < authEvery
	r.mu.Unlock()
	if fresh {
		return nil
	}
	err := r.conn.client.CheckAuth(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.authorized, r.authChecked = err, m.Clock.Now()
	return err
}

// toProbe tells whether swapRecord is to be probed before obj's repository may be
// written.
func (m *Manager) toProbe(r *repo, obj *v1alpha1.AtprotoRepo) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return obj.Spec.Access == v1alpha1.AccessReadWrite && obj.Spec.CredentialsRef != nil && r.swap == open
}

func (m *Manager) probe(ctx context.Context, r *repo) error {
	honoured, err := atproto.ProbeSwap(ctx, r.conn.client, probeCollection)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.swapErr = err
	switch {
	case err != nil:
	case honoured:
		r.swap = yes
	default:
		r.swap = no
	}
	return err
}

// writeStatus writes what is worth it.
func (m *Manager) writeStatus(ctx context.Context, k key, r *repo, obj *v1alpha1.AtprotoRepo) (again time.Duration, err error) {
	again = authEvery
	if !m.Leading() {
		return again, nil
	}
	status := m.observe(k, r, obj)
	if meta.IsStatusConditionPresentAndEqual(status.Conditions, v1alpha1.ConditionReady, metav1.ConditionUnknown) {
		again = unsettledEvery
	}
	if !m.worthWriting(r, &obj.Status, status) {
		return again, nil
	}
	client, err := m.For(k.workspace)
	if err != nil {
		return 0, err
	}
	changed := obj.DeepCopy()
	changed.Status = *status
	if _, err := client.SocialwebV1alpha1().AtprotoRepos().UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err != nil {
		return 0, err
	}
	r.statusWritten(m.Clock.Now())
	klog.FromContext(ctx).V(2).Info("Status written", "ready", meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady))
	return again, nil
}

// reasonOf is a condition's reason for a failed call.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, atproto.ErrRepoInactive):
		return "AccountInactive"
	case errors.Is(err, atproto.ErrRepoNotFound):
		return "NotFound"
	case errors.Is(err, atproto.ErrUnauthorized):
		return "Refused"
	case errors.Is(err, atproto.ErrRateLimited):
		return "RateLimited"
	case errors.Is(err, atproto.ErrBadData):
		return "BadData"
	case errors.Is(err, atproto.ErrAddressRefused):
		return "AddressRefused"
	default:
		return "Unavailable"
	}
}
