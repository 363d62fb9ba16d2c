package registry

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// An apply of what is there leaves the managed fields as they are, though its time
// changes their order; one that changes a field, or what a manager owns, doesn't.
func TestManagedFieldsOfAnApplyThatChangesNothing(t *testing.T) {
	entry := func(manager string, at int, fields string) metav1.ManagedFieldsEntry {
		then := metav1.NewTime(time.Unix(int64(at), 0))
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, Time: &then, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	object := func(description string, fields ...metav1.ManagedFieldsEntry) *socialweb.Infra {
		o := &socialweb.Infra{}
		o.Spec.Description, o.ManagedFields = description, fields
		return o
	}
	old := object("x", entry("a", 1, `{"f:spec":{}}`), entry("b", 2, `{"f:status":{}}`))
	for name, c := range map[string]struct {
		obj  *socialweb.Infra
		kept bool
	}{
		"later":         {object("x", entry("b", 2, `{"f:status":{}}`), entry("a", 3, `{"f:spec":{}}`)), true},
		"another value": {object("y", entry("b", 2, `{"f:status":{}}`), entry("a", 3, `{"f:spec":{}}`)), false},
		"another field": {object("x", entry("b", 2, `{"f:status":{}}`), entry("a", 3, `{"f:metadata":{}}`)), false},
		"one more":      {object("x", entry("a", 1, `{"f:spec":{}}`), entry("b", 2, `{"f:status":{}}`), entry("c", 3, `{"f:spec":{}}`)), false},
	} {
		before := c.obj.ManagedFields[len(c.obj.ManagedFields)-1]
		keepManagedFields(c.obj, old)
		last := c.obj.ManagedFields[len(c.obj.ManagedFields)-1]
		if kept := c.obj.ManagedFields[0].Manager == "a" && c.obj.ManagedFields[0].Time.Unix() == 1 && len(c.obj.ManagedFields) == 2; kept != c.kept {
			t.Errorf("%s: %+v", name, c.obj.ManagedFields)
		}
		if !c.kept && last.Manager != before.Manager {
			t.Errorf("%s: the last is %s, was %s", name, last.Manager, before.Manager)
		}
	}
}
