package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeletionPolicy says what happens to the record when its object is deleted.
// +enum
type DeletionPolicy string

const (
	// DeletionDelete deletes the record with its object.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionRetain keeps the record. It is then on the detached list and is not
	// served again until it is bound anew.
	DeletionRetain DeletionPolicy = "Retain"
)

// SyncDirection says which way the declaration went last.
// +enum
type SyncDirection string

const (
	// DirectionCreated says that the object's creation created the record.
	DirectionCreated SyncDirection = "Created"
	// DirectionPushed says that a write to the API was written to the record.
	DirectionPushed SyncDirection = "Pushed"
	// DirectionPulled says that the object took over what the record held.
	DirectionPulled SyncDirection = "Pulled"
	// DirectionInSync says that the record holds the declaration and the observed
	// status, and that nothing is left to write.
	DirectionInSync SyncDirection = "InSync"
)

// RecordBinding binds an object to a record of an atproto repository.
type RecordBinding struct {
	// repoRef names the AtprotoRepo whose repository holds the record. It can't
	// change while the object is bound.
	// +required
	RepoRef RepoReference `json:"repoRef"`
	// uri is the at-uri of an existing record to follow, with a DID as its
	// authority. Empty: the object has a record of its own, whose key is the
	// object's name. It can't change once it is set.
	// +optional
	URI string `json:"uri,omitempty"`
	// deletionPolicy says what happens to the record when the object is deleted:
	// Delete (the default) or Retain.
	// +optional
	// +default="Delete"
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// RepoReference names an AtprotoRepo.
type RepoReference struct {
	// name of the AtprotoRepo.
	// +required
	Name string `json:"name"`
}

// RecordStatus is what the server knows of the object's record.
type RecordStatus struct {
	// uri is the record's at-uri.
	// +optional
	URI string `json:"uri,omitempty"`
	// cid is the content identifier of the record that this object reflects.
	// Empty: the record is gone.
	// +optional
	CID string `json:"cid,omitempty"`
	// rev is the revision of the repository at which the record was read or
	// written.
	// +optional
	Rev string `json:"rev,omitempty"`
	// declarationHash is the sha256, in hex, of the canonical JSON (RFC 8785) of
	// the declaration: the part of the record that either side may change.
	// +optional
	DeclarationHash string `json:"declarationHash,omitempty"`
	// direction says which way the declaration went last: Created, Pushed, Pulled,
	// or InSync once nothing is left to write.
	// +optional
	Direction SyncDirection `json:"direction,omitempty"`
	// syncedAt is when direction last became what it is.
	// +optional
	SyncedAt *metav1.Time `json:"syncedAt,omitempty"`
}
