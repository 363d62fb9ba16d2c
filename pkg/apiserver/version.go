package apiserver

import (
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	baseversion "k8s.io/component-base/version"
)

const (
	// component is our name among the components whose version and feature gates
	// can be emulated (KEP-4330).
	component = "infra"
	// componentVersion is the version of our API surface.
	componentVersion = "0.1"
)

// registerComponents makes us and the libraries of Kubernetes known to the
// registry of versions and feature gates. Kubernetes' gates are always at their
// binary's own version: we have none that follow an older one.
func registerComponents() basecompatibility.ComponentGlobalsRegistry {
	r := compatibility.DefaultComponentGlobalsRegistry
	_, _ = r.ComponentGlobalsOrRegister(component,
		basecompatibility.NewEffectiveVersionFromString(componentVersion, "", ""),
		featuregate.NewVersionedFeatureGate(version.MustParse(componentVersion)))
	_, _ = r.ComponentGlobalsOrRegister(basecompatibility.DefaultKubeComponent,
		basecompatibility.NewEffectiveVersionFromString(baseversion.DefaultKubeBinaryVersion, "", ""),
		utilfeature.DefaultMutableFeatureGate)
	return r
}
