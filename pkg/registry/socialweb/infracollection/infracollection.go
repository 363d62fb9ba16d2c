package infracollection

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/validation"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

// InfraCollection is the kind that serves the records of Infras.
func InfraCollection() registry.Kind {
	k := common("infracollections", "infracollection", socialweb.ShortNameInfraCollection, func(o runtime.Object) (*socialweb.InfraCollectionSpec, *socialweb.InfraCollectionStatus) {
		return &collection(o).Spec, &collection(o).Status
	})
	k.New = func() runtime.Object { return &socialweb.InfraCollection{} }
	k.NewList = func() runtime.Object { return &socialweb.InfraCollectionList{} }
	k.Validate = func(o runtime.Object) field.ErrorList { return validation.ValidateInfraCollectionCreate(collection(o)) }
	k.ValidateUpdate = func(o, old runtime.Object) field.ErrorList {
		return validation.ValidateInfraCollectionUpdate(collection(o), collection(old))
	}
	k.ValidateStatusUpdate = func(o, old runtime.Object) field.ErrorList {
		return validation.ValidateInfraCollectionStatusUpdate(collection(o), collection(old))
	}
	return k
}

func collection(o runtime.Object) *socialweb.InfraCollection { return o.(*socialweb.InfraCollection) }
