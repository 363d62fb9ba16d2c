// Package install adds every version of the API group socialweb.computer to a
// scheme.
package install

import (
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Install adds the internal types, every served version and their order of
// preference to the scheme. It panics where the generated code contradicts
// itself, which only a build error can cause.
func Install(scheme *runtime.Scheme) {
	utilruntime.Must(socialweb.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion))
}
