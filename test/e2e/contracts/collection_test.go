//go:build e2e

package contracts

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

func collections() typed.InfraCollectionInterface {
	return plane.Admin().Infra.SocialwebV1alpha1().InfraCollections()
}

// collect makes the InfraCollection of a repository, named as that.
func collect(t *testing.T, repo string) {
	t.Helper()
	o := &v1alpha1.InfraCollection{
		ObjectMeta: metav1.ObjectMeta{Name: repo},
		Spec:       v1alpha1.InfraCollectionSpec{RepoRef: v1alpha1.RepoReference{Name: repo}},
	}
	if _, err := collections().Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(harness.Explain(err))
	}
}

// child of a collection that is listed under a URI.
func child(o *v1alpha1.InfraCollection, uri string) *v1alpha1.CollectionChild {
	for i, c := range o.Status.Children {
		if c.URI == uri {
			return &o.Status.Children[i]
		}
	}
	return nil
}

// awaitChild waits until a collection lists a record as it should.
func awaitChild(t *testing.T, collection, uri string, is func(*v1alpha1.CollectionChild) bool) {
	t.Helper()
	harness.Await(t, collections().Watch, collection, func(o *v1alpha1.InfraCollection) error {
		if c := child(o, uri); !is(c) {
			return fmt.Errorf("%s is listed as %+v, in %+v", uri, c, o.Status)
		}
		return nil
	})
}

// written puts a record with one contract, as another client does.
func written(t *testing.T, a *harness.Account, rkey, state string) {
	t.Helper()
	a.Put(t, harness.InfraCollection, rkey, map[string]any{
		"description": "written by hand", "createdAt": "2026-01-02T03:04:05.000Z",
		"contracts": []any{map[string]any{"name": "web", "state": state}},
	})
}

// ACC29-COLLECTION-ENUMERATE: of two records in an account one was published by an
// Infra, the other was written at the PDS. A collection lists both, and makes an object
// of the second alone, which declares what the record does.
func TestCollectionEnumerate(t *testing.T) {
	t.Parallel()
	a := plane.Account(t, enumerated)
	plane.NewRepo(t, enumerated, a)
	publishing, byHand := bound(t, enumerated), harness.Name(t)
	written(t, a, byHand, "staged")
	collect(t, enumerated)
	awaitChild(t, enumerated, a.URI(harness.InfraCollection, publishing), func(c *v1alpha1.CollectionChild) bool {
		return c != nil && c.BoundBy == publishing && c.Name == "" && c.Conflict == ""
	})
	awaitChild(t, enumerated, a.URI(harness.InfraCollection, byHand), func(c *v1alpha1.CollectionChild) bool {
		return c != nil && c.Name == byHand && c.CID != "" && c.BoundBy == ""
	})
	o := awaitInfra(t, byHand, inPhase(v1alpha1.PhaseStaged, "web=Staged"))
	if err := declared(o, record(t, a, byHand).Value); err != nil {
		t.Error(err)
	}
	owner := metav1.GetControllerOf(o)
	if o.Labels[v1alpha1.LabelCollection] != enumerated || owner == nil || owner.Kind != "InfraCollection" || owner.Name != enumerated {
		t.Errorf("labels %v, owner %+v", o.Labels, owner)
	}
	if r := o.Spec.Record; r == nil || r.RepoRef.Name != enumerated || o.Status.Record.URI != a.URI(harness.InfraCollection, byHand) {
		t.Errorf("spec.record %+v, status.record %+v", r, o.Status.Record)
	}
	p, err := infras().Get(t.Context(), publishing, metav1.GetOptions{})
	if err != nil || metav1.GetControllerOf(p) != nil || p.Labels[v1alpha1.LabelCollection] != "" {
		t.Errorf("the one that publishes: %v %+v", err, p.ObjectMeta)
	}
}

// ACC29-REMOTE-DELETE: a record of a collection that is deleted at the PDS takes its
// object along, once that has released what it held. It doesn't come back.
func TestRemoteDelete(t *testing.T) {
	t.Parallel()
	a, f := plane.Account(t, deletedThere), plane.Fulfiller(t)
	contracts := followContracts(t)
	plane.NewRepo(t, deletedThere, a)
	name, later := harness.Name(t), harness.Name(t)
	f.Serve(t, name)
	written(t, a, name, "requested")
	collect(t, deletedThere)
	o := awaitInfra(t, name, inPhase(v1alpha1.PhaseDeployed, "web=Deployed"))
	h := followInfra(t, o)
	a.Delete(t, harness.InfraCollection, name)
	h.await(t, "the object's deletion", func(e event[*v1alpha1.Infra]) bool { return e.kind == watch.Deleted })
	contracts.deleted(t, name)
	awaitChild(t, deletedThere, a.URI(harness.InfraCollection, name), func(c *v1alpha1.CollectionChild) bool { return c == nil })

	// What comes later has come by, and the other hasn't come back.
	written(t, a, later, "staged")
	awaitChild(t, deletedThere, a.URI(harness.InfraCollection, later), func(c *v1alpha1.CollectionChild) bool { return c != nil && c.Name == later })
	if _, err := infras().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it came back: %v", err)
	}
}
