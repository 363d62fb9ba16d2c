package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of this package.
const GroupName = "socialweb.computer"

// SchemeGroupVersion is the group and version of this package.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

var (
	// SchemeBuilder collects the functions that add this version to a scheme.
	SchemeBuilder runtime.SchemeBuilder
	// localSchemeBuilder is what the generated files register with.
	localSchemeBuilder = &SchemeBuilder
	// AddToScheme adds the types, defaults, conversions and field labels of this
	// version to a scheme.
	AddToScheme = localSchemeBuilder.AddToScheme
)

func init() {
	// The generated registrations are added by their own init functions, so that
	// the package compiles before they exist.
	localSchemeBuilder.Register(addKnownTypes, addFieldLabelConversions)
}

// Resource is the group-qualified name of a resource of this group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

// Kind is the group-qualified name of a kind of this group.
func Kind(kind string) schema.GroupKind {
	return SchemeGroupVersion.WithKind(kind).GroupKind()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&Infra{}, &InfraList{},
		&EphemeralInfra{}, &EphemeralInfraList{},
		&InfraCollection{}, &InfraCollectionList{},
		&EphemeralInfraCollection{}, &EphemeralInfraCollectionList{},
		&AtprotoRepo{}, &AtprotoRepoList{},
		&ComputeContract{}, &ComputeContractList{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
