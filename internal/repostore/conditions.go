package repostore

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The conditions that the storage sets.
const (
	// ConditionRecordValid is False while the record can't be served as its kind;
	// the object keeps its last valid declaration.
	ConditionRecordValid = "RecordValid"
	// ConditionSyncConflict is True after a write was refused because an edit of
	// the record made elsewhere won; the next declaration write clears it.
	ConditionSyncConflict = "SyncConflict"
	// ConditionStatusContested is True while somebody else keeps replacing the
	// observed status in the record and we have stopped writing it back.
	ConditionStatusContested = "StatusContested"
)

// setCondition sets one of ours. They are about the record, whatever the object's
// generation: an observedGeneration would make them look outdated after the next
// change of spec, and `kubectl wait` would not believe them.
func (s *Store) setCondition(obj runtime.Object, c metav1.Condition) {
	conditions := s.mapper.Conditions(obj)
	if conditions == nil {
		return
	}
	c.LastTransitionTime = metav1.NewTime(s.hub.clock.Now().Truncate(1e9))
	meta.SetStatusCondition(conditions, c)
}

// clearCondition sets a condition that is there to False.
func (s *Store) clearCondition(obj runtime.Object, kind, reason, message string) {
	conditions := s.mapper.Conditions(obj)
	if conditions == nil || !meta.IsStatusConditionTrue(*conditions, kind) {
		return
	}
	s.setCondition(obj, metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message})
}

func conflictCondition(lost *lostWrite, cid string) metav1.Condition {
	return metav1.Condition{
		Type: ConditionSyncConflict, Status: metav1.ConditionTrue, Reason: "RecordWon",
		Message: fmt.Sprintf("a write based on resourceVersion %s was refused: the record had been changed elsewhere to %s", lost.base, cid),
	}
}

func invalidCondition(cid string, fault *InvalidRecordError) metav1.Condition {
	return metav1.Condition{
		Type: ConditionRecordValid, Status: metav1.ConditionFalse, Reason: "InvalidRecord",
		Message: fmt.Sprintf("record %s is not valid: %s. Mend the record in its repository; until then the object keeps its last valid declaration, if it ever had one", cid, fault),
	}
}

func validCondition() metav1.Condition {
	return metav1.Condition{Type: ConditionRecordValid, Status: metav1.ConditionTrue, Reason: "Valid", Message: "the record is valid"}
}
