package repostore

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// RecordMapper is what the storage knows of a record-backed kind. Its methods
// are pure: they don't keep or share what they are given.
type RecordMapper interface {
	// Collection is the NSID of the kind's records.
	Collection() string
	// New returns an empty object.
	New() runtime.Object

	// Declaration is the part of a record that either side may change, made from
	// the object, in the atproto data model. Two objects whose declarations are
	// equal need no put between them.
	Declaration(obj runtime.Object) (map[string]any, error)
	// Encode makes the whole record of obj: its declaration, its observed status
	// and what Decode left in the remainder.
	Encode(obj runtime.Object, remainder map[string]any) (map[string]any, error)
	// Decode sets obj's declaration to the record's, with the kind's defaults, and
	// returns the remainder: what the record holds beyond it and must survive our
	// writes (unknown fields, the author's createdAt). It leaves everything else
	// of obj alone, and all of it on an error. An *InvalidRecordError says that the
	// record can't be this kind's.
	Decode(record map[string]any, obj runtime.Object) (remainder map[string]any, err error)
	// FirstSight completes an object that is seen for the first time: created by
	// the API, or decoded from a record, the first valid one of its own where others
	// came before. It fixes what is fixed once (an expiry) and
	// does what the kind's strategy does for a created object.
	FirstSight(obj runtime.Object, s Sight)

	// Binding is obj's wish for a record; the zero Binding is none.
	Binding(obj runtime.Object) Binding
	// SetBinding writes it.
	SetBinding(obj runtime.Object, b Binding)
	// RecordStatus reads status.record; nil is none.
	RecordStatus(obj runtime.Object) *RecordStatus
	// SetRecordStatus writes status.record.
	SetRecordStatus(obj runtime.Object, rs *RecordStatus)
	// Conditions is the object's condition list, nil where the kind has none.
	Conditions(obj runtime.Object) *[]metav1.Condition
	// ManagesGeneration tells whether metadata.generation counts changes of the
	// kind's spec.
	ManagesGeneration() bool
}

// Binding is spec.record: in which repository an object's record lies.
type Binding struct {
	// RepoName is the AtprotoRepo's name in the object's workspace; "" is unbound.
	RepoName string
	// URI follows an existing record; "" publishes one under the object's name.
	URI string
	// Retain keeps the record when the object is deleted.
	Retain bool
}

// Sight is what is known when an object is seen for the first time.
type Sight struct {
	// Record that it was decoded from; nil for one that the API creates.
	Record map[string]any
	// Ours tells that the record had been served before: its views were lost. Its
	// observed status is our own then, and is taken back.
	Ours bool
	// Now is the time of the sight.
	Now time.Time
	// First is when the record was first seen: Now, or long before where its views
	// were lost. Zero: that is not known.
	First time.Time
	// Late tells that the object is there already: its record was no valid one until
	// now, perhaps ever. What was fixed by a valid one before stays.
	Late bool
}

// Direction tells which way the last change of a declaration went.
type Direction string

const (
	// Created: an API write made the record.
	Created Direction = "Created"
	// Pushed: an API write changed the record.
	Pushed Direction = "Pushed"
	// Pulled: an edit of the record made elsewhere changed the object.
	Pulled Direction = "Pulled"
	// InSync: nothing is left to be written to the record.
	InSync Direction = "InSync"
)

// RecordStatus is status.record. The storage owns it: it is written with every
// change of the view's stamp and whatever a client sends there is ignored.
type RecordStatus struct {
	// URI and CID of the record, and Rev of the repository, that the object
	// reflects.
	URI, CID, Rev string
	// DeclarationHash is sha256, in hex, over the declaration's RFC 8785 JSON.
	DeclarationHash string
	// Direction of the last change.
	Direction Direction
	// SyncedAt is when the object was last brought together with its record.
	SyncedAt metav1.Time
}

// InvalidRecordError says why a record can't be served as its kind.
type InvalidRecordError struct {
	// Field is the path in the record, as in contracts[0].name.
	Field string
	// Reason names the value and what would be right.
	Reason string
}

// clipped is e in bounds: what a record says goes into a condition.
func (e *InvalidRecordError) clipped() *InvalidRecordError {
	const most = 3072
	clip := func(s string) string {
		if len(s) > most {
			s = strings.ToValidUTF8(s[:most], "") + "…"
		}
		return s
	}
	return &InvalidRecordError{Field: clip(e.Field), Reason: clip(e.Reason)}
}

// Error implements error.
func (e *InvalidRecordError) Error() string {
	if e.Field == "" {
		return e.Reason
	}
	return e.Field + ": " + e.Reason
}
