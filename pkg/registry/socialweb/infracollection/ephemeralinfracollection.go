package infracollection

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/validation"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

// EphemeralInfraCollection is the kind that serves the records of EphemeralInfras.
func EphemeralInfraCollection() registry.Kind {
	k := common("ephemeralinfracollections", "ephemeralinfracollection", socialweb.ShortNameEphemeralInfraCollection, func(o runtime.Object) (*socialweb.InfraCollectionSpec, *socialweb.InfraCollectionStatus) {
		return &ephemeral(o).Spec, &ephemeral(o).Status
	})
	k.New = func() runtime.Object { return &socialweb.EphemeralInfraCollection{} }
	k.NewList = func() runtime.Object { return &socialweb.EphemeralInfraCollectionList{} }
	k.Validate = func(o runtime.Object) field.ErrorList {
		return validation.ValidateEphemeralInfraCollectionCreate(ephemeral(o))
	}
	k.ValidateUpdate = func(o, old runtime.Object) field.ErrorList {
		return validation.ValidateEphemeralInfraCollectionUpdate(ephemeral(o), ephemeral(old))
	}
	k.ValidateStatusUpdate = func(o, old runtime.Object) field.ErrorList {
		return validation.ValidateEphemeralInfraCollectionStatusUpdate(ephemeral(o), ephemeral(old))
	}
	return k
}

func ephemeral(o runtime.Object) *socialweb.EphemeralInfraCollection {
	return o.(*socialweb.EphemeralInfraCollection)
}
