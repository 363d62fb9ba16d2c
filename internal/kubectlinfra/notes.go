package kubectlinfra

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// usual is the status of each condition that nobody has to know of.
var usual = map[string]metav1.ConditionStatus{
	v1alpha1.ConditionReady:               metav1.ConditionTrue,
	v1alpha1.ConditionRecordValid:         metav1.ConditionTrue,
	v1alpha1.ConditionContractsCurrent:    metav1.ConditionTrue,
	v1alpha1.ConditionExecuting:           metav1.ConditionTrue,
	v1alpha1.ConditionContractsAdmitted:   metav1.ConditionTrue,
	v1alpha1.ConditionWorkspaceBound:      metav1.ConditionTrue,
	v1alpha1.ConditionSyncConflict:        metav1.ConditionFalse,
	v1alpha1.ConditionStatusContested:     metav1.ConditionFalse,
	v1alpha1.ConditionExpiredAtFirstSight: metav1.ConditionFalse,
	v1alpha1.ConditionTruncated:           metav1.ConditionFalse,
}

// note takes down the conditions that somebody should know of.
func (f *forest) note(title string, conditions []metav1.Condition) {
	for i := range conditions {
		c := &conditions[i]
		if normal, known := usual[c.Type]; !known || c.Status == normal {
			continue
		}
		text := fmt.Sprintf("%s: %s=%s, %s", title, c.Type, c.Status, c.Reason)
		if c.Message != "" {
			text += ": " + c.Message
		}
		f.notes = append(f.notes, text)
	}
}

// readiness is the READY of a line; "": nobody has said.
func readiness(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); c != nil {
		return string(c.Status)
	}
	return ""
}
