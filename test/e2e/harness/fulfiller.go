package harness

import (
	"context"
	"fmt"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// Fulfiller plays one: it moves ComputeContracts on, through the API, as a user who
// may read them and write their statuses, and nothing else. What it is told to do it
// does once, and waits for what has to be before.
type Fulfiller struct {
	// Contracts is its client.
	Contracts typed.ComputeContractInterface
}

// Winner is the bidder of contracts that are Held, Receipt and ReceiptCID the record
// by which it confirms them.
const (
	Winner     = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"
	Receipt    = "at://" + Winner + "/computer.socialweb.market.receipt/3k2a"
	ReceiptCID = "bafyreidfayvfuwqa7qlnopdjiqrxzs6blmoeu4rujcjtnci5beludirz2a"
)

// fulfillers is the name of their user and role.
const fulfillers = "e2e-fulfiller"

// Fulfiller is one more of them; they are all the same user.
func (p *Plane) Fulfiller(t testing.TB) *Fulfiller {
	t.Helper()
	rbac := p.clients.Core.RbacV1()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: fulfillers},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1alpha1.SchemeGroupVersion.Group}, Resources: []string{"computecontracts"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{v1alpha1.SchemeGroupVersion.Group}, Resources: []string{"computecontracts/status"}, Verbs: []string{"update"}},
		},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: fulfillers},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: fulfillers},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: fulfillers}},
	}
	if _, err := rbac.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	if _, err := rbac.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return &Fulfiller{NewClients(t, p.ConfigFor(t, fulfillers)).Infra.SocialwebV1alpha1().ComputeContracts()}
}

// Claim takes a contract on, once it is Pending.
func (f *Fulfiller) Claim(t testing.TB, name string) {
	t.Helper()
	f.move(t, name, v1alpha1.ComputeRequesting, v1alpha1.ComputePending)
}

// Hold says that a bidder holds a contract that it has claimed.
func (f *Fulfiller) Hold(t testing.TB, name string) {
	t.Helper()
	f.move(t, name, v1alpha1.ComputeHeld, v1alpha1.ComputeRequesting)
}

// Release gives back what it has begun to.
func (f *Fulfiller) Release(t testing.TB, name string) {
	t.Helper()
	f.move(t, name, v1alpha1.ComputeReleased, v1alpha1.ComputeReleasing)
}

// Releasing begins to give a Held contract back, once it is asked to.
func (f *Fulfiller) Releasing(t testing.TB, name string) {
	t.Helper()
	f.Await(t, name, func(c *v1alpha1.ComputeContract) error {
		if !c.Spec.Release {
			return fmt.Errorf("nobody has asked for the release of %s", name)
		}
		return nil
	})
	f.move(t, name, v1alpha1.ComputeReleasing, v1alpha1.ComputeHeld)
}

// Fail says that a contract failed.
func (f *Fulfiller) Fail(t testing.TB, name, message string) {
	t.Helper()
	f.write(t, name, func(c *v1alpha1.ComputeContract) error {
		c.Status.Phase, c.Status.Message = v1alpha1.ComputeFailed, message
		return nil
	})
}

// Await waits until a ComputeContract is there and ask has no objection.
func (f *Fulfiller) Await(t testing.TB, name string, ask func(*v1alpha1.ComputeContract) error) *v1alpha1.ComputeContract {
	t.Helper()
	return Await(t, f.Contracts.Watch, name, ask)
}

// move to a phase from another, for which it waits.
func (f *Fulfiller) move(t testing.TB, name string, to, from v1alpha1.ComputeContractPhase) {
	t.Helper()
	f.write(t, name, func(c *v1alpha1.ComputeContract) error {
		if c.Status.Phase != from {
			return fmt.Errorf("it is %s, not %s", c.Status.Phase, from)
		}
		if c.Status.Phase = to; to == v1alpha1.ComputeHeld {
			hold(c)
		}
		return nil
	})
}

// write changes a status as soon as it can be, with the resourceVersion that was read.
func (f *Fulfiller) write(t testing.TB, name string, change func(*v1alpha1.ComputeContract) error) {
	t.Helper()
	for {
		c := f.Await(t, name, func(c *v1alpha1.ComputeContract) error { return change(c.DeepCopy()) })
		_ = change(c) // it had no objection
		_, err := f.Contracts.UpdateStatus(t.Context(), c, metav1.UpdateOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) && !apierrors.IsForbidden(err) { // the role may be new
			t.Fatalf("%s: %v", name, Explain(err))
		}
	}
}

// Serve fulfils every contract of a deployment by itself, until the test ends: it claims
// and holds what is Pending, and gives back what is to be released.
func (f *Fulfiller) Serve(t testing.TB, deployment string) {
	t.Helper()
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			f.serve(ctx, labels.Set{v1alpha1.LabelName: deployment}.String())
			select {
			case <-ctx.Done():
			case <-time.After(poll):
			}
		}
	}()
	t.Cleanup(func() {
		end()
		<-done
	})
}

// serve reads one watch. What could not be written, its next event tells again.
func (f *Fulfiller) serve(ctx context.Context, selector string) {
	w, err := f.Contracts.Watch(ctx, metav1.ListOptions{LabelSelector: selector, ResourceVersion: "0"})
	if err != nil {
		return
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.ResultChan():
			c, isIt := e.Object.(*v1alpha1.ComputeContract)
			if !ok || !isIt {
				return
			}
			if e.Type == watch.Deleted || !next(c) {
				continue
			}
			if _, err := f.Contracts.UpdateStatus(ctx, c, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				return
			}
		}
	}
}

// next takes a contract one step on, where it is the fulfiller's turn.
func next(c *v1alpha1.ComputeContract) bool {
	switch s := &c.Status; {
	case s.Phase == v1alpha1.ComputePending && !c.Spec.Release:
		s.Phase = v1alpha1.ComputeRequesting
	case s.Phase == v1alpha1.ComputeRequesting:
		hold(c)
	case s.Phase == v1alpha1.ComputeHeld && c.Spec.Release:
		s.Phase = v1alpha1.ComputeReleasing
	case s.Phase == v1alpha1.ComputeReleasing:
		s.Phase = v1alpha1.ComputeReleased
	default:
		return false
	}
	return true
}

func hold(c *v1alpha1.ComputeContract) {
	c.Status.Phase, c.Status.Winner, c.Status.Receipt = v1alpha1.ComputeHeld, Winner, &v1alpha1.ContractReceipt{URI: Receipt, CID: ReceiptCID}
}
