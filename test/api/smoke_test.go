package api

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRecordAndObjectAreOne: an object is a record, and a record an object.
func TestRecordAndObjectAreOne(t *testing.T) {
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		made := e.create(t, newInfra("a", "by the API"))
		value, cid := a.get(t, "a")
		if value["description"] != "by the API" || made.Status.Record == nil || made.Status.Record.CID != cid {
			t.Errorf("record %v with %s, status %+v", value, cid, made.Status.Record)
		}
		a.put(t, "b", infraRecord("by the PDS"))
		if got := e.infra(t, "b"); got.Spec.Description != "by the PDS" || got.UID == "" {
			t.Errorf("object %+v", got)
		}
		if err := e.client.Infras().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if value, _ := a.get(t, "a"); value != nil {
			t.Errorf("record %v of a deleted object", value)
		}
	})
}
