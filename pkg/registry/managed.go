package registry

import (
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// keepManagedFields gives obj the managed fields of old where these differ in
// their times alone and nothing else of the object changed: a manager that applies
// what is there already has written nothing. The generic handlers see to that as
// far as the times don't change the order of the managers.
func keepManagedFields(obj, old runtime.Object) {
	m, o := mustMeta(obj), mustMeta(old)
	if !apiequality.Semantic.DeepEqual(timeless(m.GetManagedFields()), timeless(o.GetManagedFields())) {
		return
	}
	obj, old = obj.DeepCopyObject(), old.DeepCopyObject()
	for _, c := range []metav1.Object{mustMeta(obj), mustMeta(old)} {
		c.SetManagedFields(nil)
		c.SetResourceVersion("")
	}
	if apiequality.Semantic.DeepEqual(obj, old) {
		m.SetManagedFields(o.GetManagedFields())
	}
}

// timeless are managed fields without their times, in an order that doesn't depend
// on them.
func timeless(fields []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	out := slices.Clone(fields)
	for i := range out {
		out[i].Time = nil
	}
	slices.SortFunc(out, func(a, b metav1.ManagedFieldsEntry) int {
		if c := strings.Compare(a.Manager, b.Manager); c != 0 {
			return c
		}
		if c := strings.Compare(string(a.Operation), string(b.Operation)); c != 0 {
			return c
		}
		return strings.Compare(a.Subresource+"/"+a.APIVersion, b.Subresource+"/"+b.APIVersion)
	})
	return out
}
