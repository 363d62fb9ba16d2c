// Package infracollection describes the kinds InfraCollection and
// EphemeralInfraCollection to the registry. The two differ by the kind of their
// records alone.
package infracollection

import (
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

// parts are what the two kinds have in common, within an object.
type parts func(obj runtime.Object) (*socialweb.InfraCollectionSpec, *socialweb.InfraCollectionStatus)

// common fills in what is the same for both kinds. The finalizer is there from the
// creation: a collection that is deleted at once may have children already.
func common(resource, singular, short string, p parts) registry.Kind {
	return registry.Kind{
		Resource:   socialweb.Resource(resource),
		Singular:   socialweb.Resource(singular),
		ShortNames: []string{short},
		Categories: []string{socialweb.CategorySocialweb},
		Version:    v1alpha1.SchemeGroupVersion,
		Spec: func(o runtime.Object) any {
			spec, _ := p(o)
			return spec
		},
		SetSpec: func(to, from runtime.Object) {
			t, _ := p(to)
			f, _ := p(from)
			f.DeepCopyInto(t)
		},
		SetStatus: func(to, from runtime.Object) {
			_, t := p(to)
			*t = socialweb.InfraCollectionStatus{}
			if from != nil {
				_, f := p(from)
				f.DeepCopyInto(t)
			}
		},
		KeepStatus: func(to, from runtime.Object) {
			_, t := p(to)
			_, f := p(from)
			t.ExecuteGranted = f.ExecuteGranted
		},
		Finalizers: []string{socialweb.FinalizerChildren},
		Columns:    columns(p),
	}
}
