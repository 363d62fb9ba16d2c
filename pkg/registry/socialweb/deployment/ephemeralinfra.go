package deployment

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/validation"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

// EphemeralInfra is the kind of a deployment that ends by itself.
func EphemeralInfra() registry.Kind {
	k := common("ephemeralinfras", "ephemeralinfra", socialweb.ShortNameEphemeralInfra, func(o runtime.Object) (*socialweb.InfraSpec, *socialweb.InfraStatus) {
		return &ephemeral(o).Spec.InfraSpec, &ephemeral(o).Status.InfraStatus
	})
	k.New = func() runtime.Object { return &socialweb.EphemeralInfra{} }
	k.NewList = func() runtime.Object { return &socialweb.EphemeralInfraList{} }
	k.Spec = func(o runtime.Object) any { return &ephemeral(o).Spec }
	k.SetSpec = func(to, from runtime.Object) { ephemeral(from).Spec.DeepCopyInto(&ephemeral(to).Spec) }
	k.SetStatus = func(to, from runtime.Object) {
		ephemeral(to).Status = socialweb.EphemeralInfraStatus{}
		if from != nil {
			ephemeral(from).Status.DeepCopyInto(&ephemeral(to).Status)
		}
	}
	k.Validate = func(o runtime.Object) field.ErrorList { return validation.ValidateEphemeralInfraCreate(ephemeral(o)) }
	k.ValidateUpdate = func(o, old runtime.Object) field.ErrorList {
		return validation.ValidateEphemeralInfraUpdate(ephemeral(o), ephemeral(old))
	}
	k.ValidateStatusUpdate = func(o, old runtime.Object) field.ErrorList {
		return validation.ValidateEphemeralInfraStatusUpdate(ephemeral(o), ephemeral(old))
	}
	k.Warnings = func(o, old runtime.Object) []string {
		if old == nil {
			return validation.InfraWarnings(&ephemeral(o).Spec.InfraSpec)
		}
		return validation.EphemeralInfraUpdateWarnings(ephemeral(o), ephemeral(old))
	}
	return k
}

func ephemeral(o runtime.Object) *socialweb.EphemeralInfra { return o.(*socialweb.EphemeralInfra) }
