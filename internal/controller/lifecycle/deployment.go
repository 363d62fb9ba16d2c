package lifecycle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Kinds of deployments.
const (
	KindInfra          = "Infra"
	KindEphemeralInfra = "EphemeralInfra"
)

// Deployment is an Infra or an EphemeralInfra. Fields that only the latter has are
// empty in the former. It shares memory with the object that it was made of: nobody
// changes it in place.
type Deployment struct {
	// Kind is KindInfra or KindEphemeralInfra.
	Kind string
	metav1.ObjectMeta
	// Spec is what is wanted.
	Spec v1alpha1.EphemeralInfraSpec
	// Status is what was observed.
	Status v1alpha1.EphemeralInfraStatus
}

// FromInfra makes a Deployment of an Infra.
func FromInfra(o *v1alpha1.Infra) *Deployment {
	return &Deployment{
		Kind: KindInfra, ObjectMeta: o.ObjectMeta,
		Spec:   v1alpha1.EphemeralInfraSpec{InfraSpec: o.Spec},
		Status: v1alpha1.EphemeralInfraStatus{InfraStatus: o.Status},
	}
}

// FromEphemeralInfra makes a Deployment of an EphemeralInfra.
func FromEphemeralInfra(o *v1alpha1.EphemeralInfra) *Deployment {
	return &Deployment{Kind: KindEphemeralInfra, ObjectMeta: o.ObjectMeta, Spec: o.Spec, Status: o.Status}
}

// Infra is the object again, of a Deployment of KindInfra.
func (d *Deployment) Infra() *v1alpha1.Infra {
	return &v1alpha1.Infra{ObjectMeta: d.ObjectMeta, Spec: d.Spec.InfraSpec, Status: d.Status.InfraStatus}
}

// EphemeralInfra is the object again, of a Deployment of KindEphemeralInfra.
func (d *Deployment) EphemeralInfra() *v1alpha1.EphemeralInfra {
	return &v1alpha1.EphemeralInfra{ObjectMeta: d.ObjectMeta, Spec: d.Spec, Status: d.Status}
}

// contract of the spec; nil: it declares none of that name.
func (d *Deployment) contract(name string) *v1alpha1.Contract {
	for i := range d.Spec.Contracts {
		if d.Spec.Contracts[i].Name == name {
			return &d.Spec.Contracts[i]
		}
	}
	return nil
}

// request is the entry of a contract; nil: there is none.
func (d *Deployment) request(contract string) *v1alpha1.ContractRequest {
	for i := range d.Status.Requests {
		if d.Status.Requests[i].Contract == contract {
			return &d.Status.Requests[i]
		}
	}
	return nil
}

// last is what the status says of a contract; nil: nothing.
func (d *Deployment) last(contract string) *v1alpha1.ContractStatus {
	for i := range d.Status.Contracts {
		if d.Status.Contracts[i].Name == contract {
			return &d.Status.Contracts[i]
		}
	}
	return nil
}

// lastPhase of a contract; "": none.
func (d *Deployment) lastPhase(contract string) v1alpha1.ContractPhase {
	if s := d.last(contract); s != nil {
		return s.Phase
	}
	return ""
}
