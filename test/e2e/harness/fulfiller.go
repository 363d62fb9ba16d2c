package harness

import (
	"context"
	"fmt"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// Hold says that a bidder holds the contract; it claims it first.
func (f *Fulfiller) Hold(t testing.TB, name string) *v1alpha1.ComputeContract {
	t.Helper()
	f.Claim(t, name)
	return f.move(t, name, v1alpha1.ComputeHeld, v1alpha1.ComputeRequesting)
}

// Release gives a Held contract back once it is asked to: by way of Releasing.
func (f *Fulfiller) Release(t testing.TB, name string) {
	t.Helper()
	f.Releasing(t, name)
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

// move to a phase from one of others, for which it waits.
func (f *Fulfiller) move(t testing.TB, name string, to v1alpha1.ComputeContractPhase, from ...v1alpha1.ComputeContractPhase) *v1alpha1.ComputeContract {
	t.Helper()
	return f.write(t, name, func(c *v1alpha1.ComputeContract) error {
		if !slices.Contains(from, c.Status.Phase) {
			return fmt.Errorf("%s is %s, not %v", name, c.Status.Phase, from)
		}
		c.Status.Phase = to
		c.Status.ObservedGeneration = c.Generation
		if to == v1alpha1.ComputeHeld {
			c.Status.Winner, c.Status.Receipt = Winner, &v1alpha1.ContractReceipt{URI: Receipt, CID: ReceiptCID}
		}
		return nil
	})
}

// write changes a status as soon as it can be, with the resourceVersion that was read.
func (f *Fulfiller) write(t testing.TB, name string, change func(*v1alpha1.ComputeContract) error) *v1alpha1.ComputeContract {
	t.Helper()
	for {
		c := f.Await(t, name, func(c *v1alpha1.ComputeContract) error { return change(c.DeepCopy()) })
		_ = change(c) // it had no objection
		written, err := f.Contracts.UpdateStatus(t.Context(), c, metav1.UpdateOptions{})
		if err == nil {
			return written
		}
		if !apierrors.IsConflict(err) && !apierrors.IsForbidden(err) { // the role may be new
			t.Fatalf("%s: %v", name, Explain(err))
		}
	}
}

// Gone waits until there is no ComputeContract of a name.
func (f *Fulfiller) Gone(t testing.TB, name string) {
	t.Helper()
	Eventually(t, func(ctx context.Context) error {
		_, err := f.Contracts.Get(ctx, name, metav1.GetOptions{})
		return IsGone(err)
	})
}
