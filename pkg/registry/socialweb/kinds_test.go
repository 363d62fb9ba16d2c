// Package socialweb_test tests what all kinds have in common, for each of them.
package socialweb_test

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/randfill"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/registry"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/atprotorepo"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/computecontract"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/deployment"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/infracollection"
)

var kinds = map[string]registry.Kind{
	"Infra": deployment.Infra(), "EphemeralInfra": deployment.EphemeralInfra(), "AtprotoRepo": atprotorepo.Kind(false),
	"InfraCollection": infracollection.InfraCollection(), "EphemeralInfraCollection": infracollection.EphemeralInfraCollection(),
	"ComputeContract": computecontract.Kind(clock.RealClock{}),
}

// filled is an object of the kind with something in every field.
func filled(t *testing.T, k registry.Kind, seed int64) runtime.Object {
	t.Helper()
	o := k.New()
	randfill.NewWithSeed(seed).NilChance(0).NumElements(1, 2).MaxDepth(12).Funcs(
		func(tm *metav1.Time, c randfill.Continue) { *tm = metav1.Unix(c.Int63()%1e9, 0) },
		func(m *metav1.FieldsV1, _ randfill.Continue) { m.SetRawString("{}") },
	).Fill(o)
	return o
}

// The functions of a kind copy whole parts, and copies share nothing.
func TestPartsAreCopied(t *testing.T) {
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			a, b := filled(t, k, 1), filled(t, k, 2)
			k.SetSpec(b, a)
			k.SetStatus(b, a)
			want := a.DeepCopyObject()
			if !equal(t, part(t, b, "Spec"), part(t, want, "Spec")) || !equal(t, part(t, b, "Status"), part(t, want, "Status")) {
				t.Error("the copy differs")
			}
			randfill.NewWithSeed(3).NilChance(0).Fill(part(t, b, "Spec").Addr().Interface())
			if !equal(t, part(t, a, "Spec"), part(t, want, "Spec")) {
				t.Error("a change of the copy changed the original")
			}
			k.SetStatus(b, nil)
			if !part(t, b, "Status").IsZero() {
				t.Error("a status that was reset is not empty")
			}
			if k.Spec(a) != part(t, a, "Spec").Addr().Interface() {
				t.Error("Spec is not the object's own")
			}
		})
	}
}

func TestNamesOfKinds(t *testing.T) {
	for name, short := range map[string]string{
		"Infra": "inf", "EphemeralInfra": "einf", "AtprotoRepo": "arepo",
		"InfraCollection": "infcol", "EphemeralInfraCollection": "einfcol", "ComputeContract": "cc",
	} {
		k := kinds[name]
		if len(k.ShortNames) != 1 || k.ShortNames[0] != short || len(k.Categories) != 1 || k.Categories[0] != "socialweb" {
			t.Errorf("%s: short names %v, categories %v", name, k.ShortNames, k.Categories)
		}
		if k.Resource.Group != socialweb.GroupName || k.Resource.Resource != k.Singular.Resource+"s" {
			t.Errorf("%s: resource %v, singular %v", name, k.Resource, k.Singular)
		}
		if _, err := meta.Accessor(k.New()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !meta.IsListType(k.NewList()) {
			t.Errorf("%s: %T is no list", name, k.NewList())
		}
	}
}

// status.record is the storage's own, and executeGranted the server's: a status write
// can't change them.
func TestKeepStatus(t *testing.T) {
	for name, field := range map[string]string{
		"Infra": "Record", "EphemeralInfra": "Record",
		"AtprotoRepo": "ExecuteGranted", "InfraCollection": "ExecuteGranted", "EphemeralInfraCollection": "ExecuteGranted",
	} {
		k := kinds[name]
		client, stored := filled(t, k, 1), filled(t, k, 2)
		if f := part(t, client, "Status").FieldByName(field); f.Kind() == reflect.Bool {
			f.SetBool(!part(t, stored, "Status").FieldByName(field).Bool())
		}
		want := stored.DeepCopyObject()
		k.KeepStatus(client, stored)
		if !equal(t, part(t, client, "Status").FieldByName(field), part(t, want, "Status").FieldByName(field)) {
			t.Errorf("%s: the client's %s stands", name, field)
		}
	}
}

// Who ends a contract, and who a collection's children, comes after the creation: the
// finalizer is there before.
func TestFinalizersFromTheCreation(t *testing.T) {
	for name, want := range map[string]string{
		"AtprotoRepo": socialweb.FinalizerInUse, "ComputeContract": socialweb.FinalizerRelease,
		"InfraCollection": socialweb.FinalizerChildren, "EphemeralInfraCollection": socialweb.FinalizerChildren,
	} {
		if got := kinds[name].Finalizers; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
}
