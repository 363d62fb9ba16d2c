package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// InfraCollection serves every record of the collection computer.socialweb.infra of
// one repository as an Infra of this workspace.
type InfraCollection struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is what is to be served.
	// +optional
	Spec InfraCollectionSpec `json:"spec,omitempty"`
	// status is what is served.
	// +optional
	Status InfraCollectionStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// InfraCollectionList is a list of InfraCollections.
type InfraCollectionList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items of the list.
	Items []InfraCollection `json:"items"`
}

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralInfraCollection serves every record of the collection
// computer.socialweb.ephemeralInfra of one repository as an EphemeralInfra of this
// workspace.
type EphemeralInfraCollection struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is what is to be served.
	// +optional
	Spec InfraCollectionSpec `json:"spec,omitempty"`
	// status is what is served.
	// +optional
	Status InfraCollectionStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// EphemeralInfraCollectionList is a list of EphemeralInfraCollections.
type EphemeralInfraCollectionList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items of the list.
	Items []EphemeralInfraCollection `json:"items"`
}

// InfraCollectionSpec is what a collection serves.
type InfraCollectionSpec struct {
	// repoRef names the AtprotoRepo whose records are served. It can't change.
	// +required
	RepoRef RepoReference `json:"repoRef"`
	// execution says whether the contracts of the records run: Follow or
	// ObserveOnly. Absent: Follow where the repository can be written, else
	// ObserveOnly. Follow on a repository that can't be written needs the RBAC verb
	// execute on the collection: the records are somebody else's, what runs is paid
	// here.
	// +optional
	Execution ExecutionPolicy `json:"execution,omitempty"`
	// maxItems bounds how many records are served, 1 to 10000, 1000 by default. The
	// condition Truncated says that there are more.
	// +optional
	// +default=1000
	MaxItems *int32 `json:"maxItems,omitempty"`
}

// InfraCollectionStatus is what a collection serves.
type InfraCollectionStatus struct {
	// observedGeneration is the metadata.generation that was acted on last.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// executeGranted says that somebody who has the verb execute asked for
	// spec.execution Follow. Only the server writes it.
	// +optional
	ExecuteGranted bool `json:"executeGranted,omitempty"`
	// items is how many of the repository's records are served in this workspace,
	// whoever serves them.
	// +optional
	Items int64 `json:"items,omitempty"`
	// children are the records, in the order of their URIs: as many of them as fit
	// into 1,000,000 bytes of JSON.
	// +optional
	// +listType=atomic
	Children []CollectionChild `json:"children,omitempty"`
	// conditions of the collection: Ready, Truncated and WorkspaceBound.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// CollectionChild is one record of a collection.
type CollectionChild struct {
	// uri is the record's at-uri.
	// +required
	URI string `json:"uri"`
	// name of the object that the collection serves for the record. Empty: it serves
	// none, and boundBy or conflict says why.
	// +optional
	Name string `json:"name,omitempty"`
	// cid is the content identifier of the record that the object reflects.
	// +optional
	CID string `json:"cid,omitempty"`
	// boundBy is the object that the record is bound to without the collection.
	// +optional
	BoundBy string `json:"boundBy,omitempty"`
	// conflict is why the record isn't served: NameConflict says that another object
	// has its name.
	// +optional
	Conflict ChildConflict `json:"conflict,omitempty"`
}

// ChildConflict is why a record of a collection isn't served.
// +enum
type ChildConflict string

// NameConflict says that another object has the record's name.
const NameConflict ChildConflict = "NameConflict"
