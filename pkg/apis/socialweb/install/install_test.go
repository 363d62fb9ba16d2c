package install

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

var kinds = []string{"Infra", "EphemeralInfra", "InfraCollection", "EphemeralInfraCollection", "AtprotoRepo", "ComputeContract"}

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	Install(s)
	return s
}

func TestEveryKindHasBothVersions(t *testing.T) {
	s := newScheme()
	for _, kind := range kinds {
		for _, gv := range []schema.GroupVersion{socialweb.SchemeGroupVersion, v1alpha1.SchemeGroupVersion} {
			if !s.Recognizes(gv.WithKind(kind)) || !s.Recognizes(gv.WithKind(kind+"List")) {
				t.Errorf("%s isn't in the scheme, with its list", gv.WithKind(kind))
			}
		}
	}
	if got := s.PrioritizedVersionsForGroup(socialweb.GroupName); len(got) != 1 || got[0] != v1alpha1.SchemeGroupVersion {
		t.Errorf("versions in order: %v", got)
	}
}

func TestOnlyTheNameSelects(t *testing.T) {
	s := newScheme()
	for _, kind := range kinds {
		gvk := v1alpha1.SchemeGroupVersion.WithKind(kind)
		if _, _, err := s.ConvertFieldLabel(gvk, "metadata.name", "a"); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for _, label := range []string{"metadata.namespace", "spec.nope", "status.phase"} {
			_, _, err := s.ConvertFieldLabel(gvk, label, "a")
			if err == nil || !strings.Contains(err.Error(), label) {
				t.Errorf("%s: selector %s: got %v, want an error that names it", kind, label, err)
			}
		}
	}
}

// TestVersionsHaveTheSameFields keeps internal and v1alpha1 alike, so that every
// conversion is a generated one.
func TestVersionsHaveTheSameFields(t *testing.T) {
	pairs := map[reflect.Type]reflect.Type{
		reflect.TypeFor[socialweb.Infra]():                    reflect.TypeFor[v1alpha1.Infra](),
		reflect.TypeFor[socialweb.EphemeralInfra]():           reflect.TypeFor[v1alpha1.EphemeralInfra](),
		reflect.TypeFor[socialweb.AtprotoRepo]():              reflect.TypeFor[v1alpha1.AtprotoRepo](),
		reflect.TypeFor[socialweb.ComputeContract]():          reflect.TypeFor[v1alpha1.ComputeContract](),
		reflect.TypeFor[socialweb.InfraCollection]():          reflect.TypeFor[v1alpha1.InfraCollection](),
		reflect.TypeFor[socialweb.EphemeralInfraCollection](): reflect.TypeFor[v1alpha1.EphemeralInfraCollection](),
	}
	for internal, versioned := range pairs {
		sameFields(t, internal, versioned)
	}
}

func sameFields(t *testing.T, a, b reflect.Type) {
	t.Helper()
	switch a.Kind() {
	case reflect.Pointer, reflect.Slice:
		sameFields(t, a.Elem(), b.Elem())
	case reflect.Struct:
		if a == b {
			return
		}
		if a.NumField() != b.NumField() {
			t.Fatalf("%s has %d fields, %s has %d", a, a.NumField(), b, b.NumField())
		}
		for i := range a.NumField() {
			if a.Field(i).Name != b.Field(i).Name {
				t.Errorf("field %d: %s of %s, %s of %s", i, a.Field(i).Name, a, b.Field(i).Name, b)
				continue
			}
			sameFields(t, a.Field(i).Type, b.Field(i).Type)
		}
	}
}

func TestEffectiveExecution(t *testing.T) {
	cases := []struct {
		access    socialweb.RepoAccess
		execution socialweb.ExecutionPolicy
		want      socialweb.ExecutionPolicy
	}{
		{socialweb.AccessReadWrite, "", socialweb.ExecutionFollow},
		{socialweb.AccessRead, "", socialweb.ExecutionObserveOnly},
		{socialweb.AccessNone, "", socialweb.ExecutionObserveOnly},
		{socialweb.AccessReadWrite, socialweb.ExecutionObserveOnly, socialweb.ExecutionObserveOnly},
		{socialweb.AccessRead, socialweb.ExecutionFollow, socialweb.ExecutionFollow},
	}
	for _, tc := range cases {
		spec := socialweb.AtprotoRepoSpec{Access: tc.access, Execution: tc.execution}
		if got := spec.EffectiveExecution(); got != tc.want {
			t.Errorf("access %s, execution %q: got %s, want %s", tc.access, tc.execution, got, tc.want)
		}
	}
}
