package socialweb

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EndWhen says what ends an EphemeralInfra before or at its deadline.
type EndWhen string

const (
	// EndComplete ends it as soon as every requested contract is Released or
	// Failed, at the deadline at the latest.
	EndComplete EndWhen = "Complete"
	// EndDeadline ends it at the deadline only.
	EndDeadline EndWhen = "Deadline"
)

// EndReason says why an EphemeralInfra ended.
type EndReason string

const (
	// EndedComplete says that every requested contract was Released or Failed.
	EndedComplete EndReason = "Complete"
	// EndedDeadline says that status.expiresAt had come.
	EndedDeadline EndReason = "Deadline"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralInfra is a deployment that ends by itself, releases its contracts and
// goes. Its declaration is a record of the collection
// computer.socialweb.ephemeralInfra, which either side may edit.
type EphemeralInfra struct {
	metav1.TypeMeta
	// Standard object's metadata.
	metav1.ObjectMeta
	// spec is what is wanted. Its description, contracts, ttlSeconds and endWhen
	// are the declaration and are published in the record.
	Spec EphemeralInfraSpec
	// status is what was observed. Its phase, contracts and expiresAt are
	// published in the record.
	Status EphemeralInfraStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralInfraList is a list of EphemeralInfras.
type EphemeralInfraList struct {
	metav1.TypeMeta
	// Standard list's metadata.
	metav1.ListMeta
	// items of the list.
	Items []EphemeralInfra
}

// EphemeralInfraSpec is what is wanted of a deployment that ends.
type EphemeralInfraSpec struct {
	InfraSpec
	// ttlSeconds is how long the deployment may live, counted from its creation:
	// 60 to 315360000 seconds, 3600 by default. Published in the record.
	TTLSeconds *int32
	// endWhen says what ends the deployment: Complete (the default), when every
	// requested contract is Released or Failed, at the deadline at the latest; or
	// Deadline. Published in the record.
	EndWhen EndWhen
}

// EphemeralInfraStatus is what was observed of a deployment that ends.
type EphemeralInfraStatus struct {
	InfraStatus
	// expiresAt is the deadline: creation plus ttlSeconds, fixed when the object
	// is first seen. Published in the record.
	ExpiresAt *metav1.Time
	// endedAt is when the deployment ended.
	EndedAt *metav1.Time
	// endReason says why it ended: Complete or Deadline.
	EndReason EndReason
}
