package deployment

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/validation"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

// Infra is the kind of a deployment that stays.
func Infra() registry.Kind {
	k := common("infras", "infra", socialweb.ShortNameInfra, func(o runtime.Object) (*socialweb.InfraSpec, *socialweb.InfraStatus) {
		return &infra(o).Spec, &infra(o).Status
	})
	k.New = func() runtime.Object { return &socialweb.Infra{} }
	k.NewList = func() runtime.Object { return &socialweb.InfraList{} }
	k.Spec = func(o runtime.Object) any { return &infra(o).Spec }
	k.SetSpec = func(to, from runtime.Object) { infra(from).Spec.DeepCopyInto(&infra(to).Spec) }
	k.SetStatus = func(to, from runtime.Object) {
		infra(to).Status = socialweb.InfraStatus{}
		if from != nil {
			infra(from).Status.DeepCopyInto(&infra(to).Status)
		}
	}
	k.Validate = func(o runtime.Object) field.ErrorList { return validation.ValidateInfraCreate(infra(o)) }
	k.ValidateUpdate = func(o, old runtime.Object) field.ErrorList {
		return validation.ValidateInfraUpdate(infra(o), infra(old))
	}
	k.ValidateStatusUpdate = func(o, old runtime.Object) field.ErrorList {
		return validation.ValidateInfraStatusUpdate(infra(o), infra(old))
	}
	k.Warnings = func(o, _ runtime.Object) []string { return validation.InfraWarnings(&infra(o).Spec) }
	return k
}

func infra(o runtime.Object) *socialweb.Infra { return o.(*socialweb.Infra) }
