//go:build e2e

package e2e

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// Records that others write are served where they are valid, whatever else is in them;
// what is not valid is told of, neither hidden nor rewritten, and stands in nobody's
// way: lists and watches go on.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	good := plane.Infra(t)
	infras := plane.Admin().Infra.SocialwebV1alpha1().Infras()
	list, err := infras.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := infras.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	before := decodeErrors(t)

	foreign, bad := good+"-foreign", good+"-bad"
	put(t, foreign, map[string]any{"$type": harness.InfraCollection, "description": "by others", "contracts": []any{}, "theirs": map[string]any{"a": int64(1)}})
	follow(t, w, foreign, func(o *v1alpha1.Infra) bool { return o.Spec.Description == "by others" })
	put(t, bad, map[string]any{"$type": harness.InfraCollection, "description": "still good", "contracts": []any{}})
	follow(t, w, bad, func(o *v1alpha1.Infra) bool { return o.Spec.Description == "still good" })

	for name, record := range map[string]map[string]any{
		"the schema": {"$type": harness.InfraCollection, "description": int64(7), "contracts": []any{}},
		"a list":     {"$type": harness.InfraCollection, "contracts": "none"},
	} {
		put(t, bad, record)
		follow(t, w, bad, func(o *v1alpha1.Infra) bool {
			return meta.IsStatusConditionFalse(o.Status.Conditions, v1alpha1.ConditionRecordValid) && o.Spec.Description == "still good"
		})
		_, err := infras.Patch(t.Context(), bad, types.MergePatchType, []byte(`{"spec":{"description":"over it"}}`), metav1.PatchOptions{})
		if err == nil {
			t.Errorf("%s: a record that isn't valid was overwritten", name)
		}
		if got := read(t, bad); !reflect.DeepEqual(got, record) {
			t.Errorf("%s: the record was %v and is %v", name, record, got)
		}
		put(t, bad, map[string]any{"$type": harness.InfraCollection, "description": "still good", "contracts": []any{}})
		follow(t, w, bad, func(o *v1alpha1.Infra) bool {
			return !meta.IsStatusConditionFalse(o.Status.Conditions, v1alpha1.ConditionRecordValid)
		})
	}
	never, record := good+"-never", map[string]any{"$type": harness.InfraCollection, "contracts": []any{int64(1)}}
	put(t, never, record)
	follow(t, w, never, func(o *v1alpha1.Infra) bool {
		return meta.IsStatusConditionFalse(o.Status.Conditions, v1alpha1.ConditionRecordValid)
	})
	now, err := infras.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{good, foreign, bad, never} {
		if !slices.ContainsFunc(now.Items, func(o v1alpha1.Infra) bool { return o.Name == name }) {
			t.Errorf("the list has no %s", name)
		}
	}
	if got := read(t, never); !reflect.DeepEqual(got, record) {
		t.Errorf("the record that was never valid is %v", got)
	}
	if after := decodeErrors(t); after <= before {
		t.Errorf("infra_apiserver_record_decode_errors_total is %v, was %v", after, before)
	}
	// The fields of others outlive a write of ours.
	if _, err := infras.Patch(t.Context(), foreign, types.MergePatchType, []byte(`{"spec":{"description":"ours"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(harness.Explain(err))
	}
	if got := read(t, foreign); got["theirs"] == nil || got["description"] != "ours" {
		t.Errorf("the record is %v", got)
	}
}

// put writes a record past the server. It goes with the test.
func put(t *testing.T, rkey string, record map[string]any) {
	t.Helper()
	if _, err := plane.Repo.PutRecord(t.Context(), atproto.Key{Collection: harness.InfraCollection, RKey: rkey}, record, atproto.Swap{Any: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plane.RemoveInfra(t, rkey) })
}

func read(t *testing.T, rkey string) map[string]any {
	t.Helper()
	r, err := plane.Repo.GetRecord(t.Context(), atproto.Key{Collection: harness.InfraCollection, RKey: rkey})
	if err != nil {
		t.Fatal(err)
	}
	return r.Value
}

// follow reads a watch until an object is as it should be.
func follow(t *testing.T, w watch.Interface, name string, is func(*v1alpha1.Infra) bool) {
	t.Helper()
	late := time.After(2 * time.Minute)
	var last *v1alpha1.Infra
	for {
		select {
		case <-late:
			t.Fatalf("%s is not as it should be: %+v", name, last)
		case e := <-w.ResultChan():
			o, ok := e.Object.(*v1alpha1.Infra)
			if !ok {
				t.Fatalf("event %s %v", e.Type, e.Object)
			}
			if o.Name != name {
				continue
			}
			if last = o; is(o) {
				return
			}
		}
	}
}

// decodeErrors is how many invalid records the replicas have told of.
func decodeErrors(t *testing.T) float64 {
	t.Helper()
	sum := 0.0
	for _, r := range plane.Replicas {
		text, err := plane.Metrics(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		sum += harness.Metric(text, "infra_apiserver_record_decode_errors_total")
	}
	return sum
}
