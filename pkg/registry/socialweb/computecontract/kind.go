// Package computecontract describes the kind ComputeContract to the registry.
package computecontract

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/validation"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

// Kind is ComputeContract. The clock tells when a phase was reached, where the
// fulfiller doesn't say so.
//
// The finalizer is there from the creation: a contract that is deleted at once may
// have been taken on already.
func Kind(clk clock.PassiveClock) registry.Kind {
	return registry.Kind{
		Resource:   socialweb.Resource("computecontracts"),
		Singular:   socialweb.Resource("computecontract"),
		ShortNames: []string{socialweb.ShortNameComputeContract},
		Categories: []string{socialweb.CategorySocialweb},
		Version:    v1alpha1.SchemeGroupVersion,
		New:        func() runtime.Object { return &socialweb.ComputeContract{} },
		NewList:    func() runtime.Object { return &socialweb.ComputeContractList{} },
		Spec:       func(o runtime.Object) any { return &contract(o).Spec },
		SetSpec:    func(to, from runtime.Object) { contract(from).Spec.DeepCopyInto(&contract(to).Spec) },
		SetStatus: func(to, from runtime.Object) {
			contract(to).Status = socialweb.ComputeContractStatus{}
			if from != nil {
				contract(from).Status.DeepCopyInto(&contract(to).Status)
			}
		},
		BeginStatus: func(o runtime.Object) { contract(o).Status.Phase = socialweb.ComputePending },
		CompleteStatus: func(o, old runtime.Object) {
			completeTimes(&contract(o).Status, &contract(old).Status, clk)
		},
		Validate: func(o runtime.Object) field.ErrorList { return validation.ValidateComputeContractCreate(contract(o)) },
		ValidateUpdate: func(o, old runtime.Object) field.ErrorList {
			return validation.ValidateComputeContractUpdate(contract(o), contract(old))
		},
		ValidateStatusUpdate: func(o, old runtime.Object) field.ErrorList {
			return validation.ValidateComputeContractStatusUpdate(contract(o), contract(old))
		},
		Finalizers: []string{socialweb.FinalizerRelease},
		Columns:    columns,
	}
}

func contract(o runtime.Object) *socialweb.ComputeContract { return o.(*socialweb.ComputeContract) }
