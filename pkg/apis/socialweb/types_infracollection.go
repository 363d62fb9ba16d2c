package socialweb

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// InfraCollection serves every record of the collection computer.socialweb.infra of
// one repository as an Infra of this workspace.
type InfraCollection struct {
	metav1.TypeMeta
	// Standard object's metadata.
	metav1.ObjectMeta
	// spec is what is to be served.
	Spec InfraCollectionSpec
	// status is what is served.
	Status InfraCollectionStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// InfraCollectionList is a list of InfraCollections.
type InfraCollectionList struct {
	metav1.TypeMeta
	// Standard list's metadata.
	metav1.ListMeta
	// items of the list.
	Items []InfraCollection
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralInfraCollection serves every record of the collection
// computer.socialweb.ephemeralInfra of one repository as an EphemeralInfra of this
// workspace.
type EphemeralInfraCollection struct {
	metav1.TypeMeta
	// Standard object's metadata.
	metav1.ObjectMeta
	// spec is what is to be served.
	Spec InfraCollectionSpec
	// status is what is served.
	Status InfraCollectionStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralInfraCollectionList is a list of EphemeralInfraCollections.
type EphemeralInfraCollectionList struct {
	metav1.TypeMeta
	// Standard list's metadata.
	metav1.ListMeta
	// items of the list.
	Items []EphemeralInfraCollection
}

// InfraCollectionSpec is what a collection serves.
type InfraCollectionSpec struct {
	// repoRef names the AtprotoRepo whose records are served. It can't change.
	RepoRef RepoReference
	// execution says whether the contracts of the records run: Follow or
	// ObserveOnly. Absent: Follow where the repository can be written, else
	// ObserveOnly. Follow on a repository that can't be written needs the RBAC verb
	// execute on the collection: the records are somebody else's, what runs is paid
	// here.
	Execution ExecutionPolicy
	// maxItems bounds how many records are served, 1 to 10000, 1000 by default. The
	// condition Truncated says that there are more.
	MaxItems *int32
}

// InfraCollectionStatus is what a collection serves.
type InfraCollectionStatus struct {
	// observedGeneration is the metadata.generation that was acted on last.
	ObservedGeneration int64
	// executeGranted says that somebody who has the verb execute asked for
	// spec.execution Follow. Only the server writes it.
	ExecuteGranted bool
	// items is how many of the repository's records are served in this workspace,
	// whoever serves them.
	Items int64
	// children are the records, in the order of their URIs: as many of them as fit
	// into 1,000,000 bytes of JSON.
	Children []CollectionChild
	// conditions of the collection: Ready, Truncated and WorkspaceBound.
	Conditions []metav1.Condition
}

// CollectionChild is one record of a collection.
type CollectionChild struct {
	// uri is the record's at-uri.
	URI string
	// name of the object that the collection serves for the record. Empty: it serves
	// none, and boundBy or conflict says why.
	Name string
	// cid is the content identifier of the record that the object reflects.
	CID string
	// boundBy is the object that the record is bound to without the collection.
	BoundBy string
	// conflict is why the record isn't served: NameConflict says that another object
	// has its name.
	Conflict ChildConflict
}

// ChildConflict is why a record of a collection isn't served.
type ChildConflict string

// NameConflict says that another object has the record's name.
const NameConflict ChildConflict = "NameConflict"
