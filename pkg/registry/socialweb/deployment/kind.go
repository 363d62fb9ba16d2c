// Package deployment describes the kinds Infra and EphemeralInfra to the
// registry. The two differ by a few fields, so all else is said once.
package deployment

import (
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

// parts are what the two kinds have in common, within an object.
type parts func(obj runtime.Object) (*socialweb.InfraSpec, *socialweb.InfraStatus)

// common fills in what is the same for both kinds.
func common(resource, singular, short string, p parts) registry.Kind {
	return registry.Kind{
		Resource:   socialweb.Resource(resource),
		Singular:   socialweb.Resource(singular),
		ShortNames: []string{short},
		Categories: []string{socialweb.CategorySocialweb},
		Version:    v1alpha1.SchemeGroupVersion,
		KeepStatus: func(to, from runtime.Object) {
			_, t := p(to)
			_, f := p(from)
			t.Record = f.Record.DeepCopy()
		},
		Columns: columns(p),
	}
}
