//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// collected is the account of TestGarbageCollectionOfCollections, and its AtprotoRepo.
const collected = "collected"

// A collection and its children go the same way beside the garbage collector of the
// real controller-manager as without one: with it, their records too; or the children
// stay, and are nobody's.
func TestGarbageCollectionOfCollections(t *testing.T) {
	t.Parallel()
	a := plane.Account(t, collected)
	plane.NewRepo(t, collected, a)
	api := plane.Admin().Infra.SocialwebV1alpha1()
	children := func(ctx context.Context) (map[string]*v1alpha1.Infra, error) {
		list, err := api.Infras().List(ctx, metav1.ListOptions{})
		out := map[string]*v1alpha1.Infra{}
		if err == nil {
			for i := range list.Items {
				if o := &list.Items[i]; o.Spec.Record != nil && o.Spec.Record.RepoRef.Name == collected {
					out[o.Name] = o
				}
			}
		}
		return out, err
	}
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		names := []string{harness.Name(t) + "-a", harness.Name(t) + "-b"}
		for _, name := range names {
			a.Put(t, harness.InfraCollection, name, map[string]any{"createdAt": "2026-01-02T03:04:05.000Z", "contracts": []any{}})
		}
		c := &v1alpha1.InfraCollection{ObjectMeta: metav1.ObjectMeta{Name: harness.Name(t)}}
		c.Spec.RepoRef.Name = collected
		c, err := api.InfraCollections().Create(t.Context(), c, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(harness.Explain(err))
		}
		harness.Eventually(t, func(ctx context.Context) error {
			got, err := children(ctx)
			if err == nil && len(got) != len(names) {
				err = fmt.Errorf("%d children", len(got))
			}
			return err
		})
		if err := api.InfraCollections().Delete(t.Context(), c.Name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, func(ctx context.Context) error {
			_, err := api.InfraCollections().Get(ctx, c.Name, metav1.GetOptions{})
			return harness.IsGone(err)
		})
		left, err := children(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if policy != metav1.DeletePropagationOrphan {
			if len(left) > 0 {
				t.Errorf("%s: %v are left", policy, left)
			}
			continue
		}
		for _, name := range names {
			if o := left[name]; o == nil || len(o.OwnerReferences) > 0 || o.Labels[v1alpha1.LabelCollection] != "" || o.DeletionTimestamp != nil {
				t.Errorf("orphaned: %+v", o)
			}
		}
	}
}
