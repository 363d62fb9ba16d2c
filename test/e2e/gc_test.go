//go:build e2e

package e2e

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// The garbage collector of the real controller-manager does with our owners and
// dependents what it does with any. Each case makes an Infra that owns an Infra and a
// ConfigMap.
func TestGarbageCollection(t *testing.T) {
	t.Parallel()
	t.Run("background", func(t *testing.T) {
		t.Parallel()
		f := plane.Family(t)
		f.Remove(t, metav1.DeletePropagationBackground)
		f.Gone(t)
	})
	t.Run("foreground", func(t *testing.T) {
		t.Parallel()
		f := plane.Family(t)
		f.Hold(t)
		f.Remove(t, metav1.DeletePropagationForeground)
		// The Infra goes; the ConfigMap is held, and so the owner stays.
		harness.Eventually(t, func(ctx context.Context) error { return harness.IsGone(f.InfraErr(ctx)) })
		if o, err := f.Infras().Get(t.Context(), f.Name, metav1.GetOptions{}); err != nil || o.DeletionTimestamp == nil {
			t.Errorf("the owner, while a dependent is there: %v %v", o.DeletionTimestamp, err)
		}
		f.Release(t)
		f.Gone(t)
		harness.Eventually(t, func(ctx context.Context) error { return harness.IsGone(f.OwnerErr(ctx)) })
	})
	t.Run("orphan", func(t *testing.T) {
		t.Parallel()
		f := plane.Family(t)
		f.Remove(t, metav1.DeletePropagationOrphan)
		harness.Eventually(t, func(ctx context.Context) error { return harness.IsGone(f.OwnerErr(ctx)) })
		o, err := f.Infras().Get(t.Context(), f.Child(), metav1.GetOptions{})
		if err != nil || len(o.OwnerReferences) != 0 {
			t.Errorf("the orphaned Infra: %v %v", err, o)
		}
		cm, err := f.ConfigMaps().Get(t.Context(), f.Name, metav1.GetOptions{})
		if err != nil || len(cm.OwnerReferences) != 0 {
			t.Errorf("the orphaned ConfigMap: %v %v", err, cm)
		}
	})
	t.Run("a record that is deleted elsewhere", func(t *testing.T) {
		t.Parallel()
		f := plane.Family(t)
		f.DeleteRecord(t, f.Name)
		f.Gone(t)
		harness.Eventually(t, func(ctx context.Context) error {
			r, err := plane.Repo.GetRecord(ctx, atproto.Key{Collection: harness.InfraCollection, RKey: f.Child()})
			if err == nil && r != nil {
				return errors.New("the dependent's record is still there")
			}
			return nil
		})
	})
	t.Run("an owner of another kind", func(t *testing.T) {
		t.Parallel()
		f := plane.FamilyNamed(harness.Name(t))
		ns, err := plane.Admin().Core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.Name}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f.NewInfra(t, metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: ns.Name, UID: ns.UID})
		if err := plane.Admin().Core.CoreV1().Namespaces().Delete(t.Context(), ns.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, func(ctx context.Context) error { return harness.IsGone(f.InfraErr(ctx)) })
	})
	t.Run("an owner that was created again", func(t *testing.T) {
		t.Parallel()
		f := plane.Family(t)
		old := f.Ref
		f.Remove(t, metav1.DeletePropagationBackground)
		f.Gone(t)
		f.NewOwner(t)
		if old.UID == f.Ref.UID {
			t.Fatalf("the new owner has the old uid %s", old.UID)
		}
		stale := plane.FamilyNamed(f.Name + "-old")
		stale.NewDependents(t, old) // of what is gone, though something has its name
		f.NewDependents(t, f.Ref)
		stale.Gone(t)
		if err := errors.Join(f.InfraErr(t.Context()), f.ConfigMapErr(t.Context())); err != nil {
			t.Errorf("a dependent of the new owner: %v", err)
		}
	})
}
