package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

func init() {
	localSchemeBuilder.Register(addDefaultingFuncs)
}

// addDefaultingFuncs registers the defaults, all of which are +default markers
// on the fields.
func addDefaultingFuncs(scheme *runtime.Scheme) error {
	return RegisterDefaults(scheme)
}
