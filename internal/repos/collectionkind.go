package repos

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	schemas "socialweb.computer/infra-apiserver/lexicons"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// collection is an InfraCollection or an EphemeralInfraCollection: the two have the
// same fields.
type collection struct {
	kind *collectionKind
	*v1alpha1.InfraCollection
}

// collectionKind is how the two kinds differ.
type collectionKind struct {
	kind, childKind string
	user            string // as it is named among the users of an AtprotoRepo
	nsid            string // of the children's records
	new             func() runtime.Object
	// api gives the clients of collections and children.
	api func(versioned.Interface) collectionAPI
}

// collectionAPI is what is done with the collections of one kind and with their
// children.
type collectionAPI struct {
	list         func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch        func(context.Context, metav1.ListOptions) (watch.Interface, error)
	update       func(context.Context, *v1alpha1.InfraCollection) error
	updateStatus func(context.Context, *v1alpha1.InfraCollection) error
	children     func(context.Context, metav1.ListOptions) ([]metav1.Object, error)
	deleteChild  func(context.Context, string, metav1.DeleteOptions) error
	patchChild   func(ctx context.Context, name string, merge []byte) error
}

// listed is a typed client's List, whose result is its items.
func listed[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) func(context.Context, metav1.ListOptions) ([]metav1.Object, error) {
	return func(ctx context.Context, o metav1.ListOptions) ([]metav1.Object, error) {
		l, err := list(ctx, o)
		if err != nil {
			return nil, err
		}
		var out []metav1.Object
		err = meta.EachListItem(l, func(item runtime.Object) error {
			child, err := meta.Accessor(item)
			out = append(out, child)
			return err
		})
		return out, err
	}
}

// patched is a typed client's Patch by a merge patch, whose result doesn't matter.
func patched[C any](patch func(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (C, error)) func(context.Context, string, []byte) error {
	return func(ctx context.Context, name string, merge []byte) error {
		_, err := patch(ctx, name, types.MergePatchType, merge, metav1.PatchOptions{})
		return err
	}
}

var infraCollections = &collectionKind{
	kind: "InfraCollection", childKind: "Infra", user: "infracollection", nsid: schemas.Infra,
	new: func() runtime.Object { return &v1alpha1.InfraCollection{} },
	api: func(c versioned.Interface) collectionAPI {
		own, children := c.SocialwebV1alpha1().InfraCollections(), c.SocialwebV1alpha1().Infras()
		return collectionAPI{
			list:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return own.List(ctx, o) },
			watch: own.Watch,
			update: func(ctx context.Context, o *v1alpha1.InfraCollection) error {
				_, err := own.Update(ctx, o, metav1.UpdateOptions{})
				return err
			},
			updateStatus: func(ctx context.Context, o *v1alpha1.InfraCollection) error {
				_, err := own.UpdateStatus(ctx, o, metav1.UpdateOptions{})
				return err
			},
			children:    listed(children.List),
			deleteChild: children.Delete,
			patchChild:  patched(children.Patch),
		}
	},
}

var ephemeralInfraCollections = &collectionKind{
	kind: "EphemeralInfraCollection", childKind: "EphemeralInfra", user: "ephemeralinfracollection", nsid: schemas.EphemeralInfra,
	new: func() runtime.Object { return &v1alpha1.EphemeralInfraCollection{} },
	api: func(c versioned.Interface) collectionAPI {
		own, children := c.SocialwebV1alpha1().EphemeralInfraCollections(), c.SocialwebV1alpha1().EphemeralInfras()
		return collectionAPI{
			list:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return own.List(ctx, o) },
			watch: own.Watch,
			update: func(ctx context.Context, o *v1alpha1.InfraCollection) error {
				_, err := own.Update(ctx, (*v1alpha1.EphemeralInfraCollection)(o), metav1.UpdateOptions{})
				return err
			},
			updateStatus: func(ctx context.Context, o *v1alpha1.InfraCollection) error {
				_, err := own.UpdateStatus(ctx, (*v1alpha1.EphemeralInfraCollection)(o), metav1.UpdateOptions{})
				return err
			},
			children:    listed(children.List),
			deleteChild: children.Delete,
			patchChild:  patched(children.Patch),
		}
	},
}

var collectionKinds = []*collectionKind{infraCollections, ephemeralInfraCollections}

// of is an object of the kind as a collection.
func (k *collectionKind) of(o any) *collection {
	switch o := o.(type) {
	case *v1alpha1.InfraCollection:
		return &collection{k, o}
	case *v1alpha1.EphemeralInfraCollection:
		return &collection{k, (*v1alpha1.InfraCollection)(o)}
	default:
		panic(fmt.Sprintf("not a collection: %T", o))
	}
}

// asOfNow are the options of a list of what etcd holds at this moment. It asks the
// PDS for nothing, as a list of the newest state would: a dead one then keeps nobody
// from being deleted.
func asOfNow(ctx context.Context, client versioned.Interface) (metav1.ListOptions, error) {
	now, err := client.SocialwebV1alpha1().AtprotoRepos().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return metav1.ListOptions{}, err
	}
	return metav1.ListOptions{ResourceVersion: now.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}, nil
}
