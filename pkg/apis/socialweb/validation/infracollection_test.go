package validation

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// newCollection is a valid InfraCollection.
func newCollection(t *testing.T) *socialweb.InfraCollection {
	t.Helper()
	c := &socialweb.InfraCollection{}
	defaulted(t, &v1alpha1.InfraCollection{
		ObjectMeta: metav1.ObjectMeta{Name: "all", ResourceVersion: "7"},
		Spec:       v1alpha1.InfraCollectionSpec{RepoRef: v1alpha1.RepoReference{Name: "main"}, Execution: v1alpha1.ExecutionFollow},
	}, c)
	return c
}

// ephemeralOf is the same of the other kind.
func ephemeralOf(c *socialweb.InfraCollection) *socialweb.EphemeralInfraCollection {
	return &socialweb.EphemeralInfraCollection{ObjectMeta: c.ObjectMeta, Spec: c.Spec, Status: c.Status}
}

func TestValidateCollections(t *testing.T) {
	type spec = socialweb.InfraCollectionSpec
	number := func(n int32) func(*spec) { return func(s *spec) { s.MaxItems = &n } }
	cases := []struct {
		name          string
		change        func(*spec)
		created       bool // false: checked as an update of newCollection
		kind          field.ErrorType
		path, remarks string
	}{
		{"as it is", func(*spec) {}, true, "", "", ""},
		{"as it was", func(*spec) {}, false, "", "", ""},
		{"no repository", func(s *spec) { s.RepoRef.Name = "" }, true, field.ErrorTypeRequired, "spec.repoRef.name", ""},
		{"repository no name", func(s *spec) { s.RepoRef.Name = "A" }, true, field.ErrorTypeInvalid, "spec.repoRef.name", ""},
		{"another repository", func(s *spec) { s.RepoRef.Name = "other" }, false, field.ErrorTypeInvalid, "spec.repoRef.name", "create another collection"},
		{"execution without a word", func(s *spec) { s.Execution = "" }, true, "", "", ""},
		{"unknown execution", func(s *spec) { s.Execution = "Run" }, true, field.ErrorTypeNotSupported, "spec.execution", "ObserveOnly"},
		{"execution changed", func(s *spec) { s.Execution = socialweb.ExecutionObserveOnly }, false, "", "", ""},
		{"least", number(1), true, "", "", ""},
		{"most", number(10000), false, "", "", ""},
		{"none", number(0), true, field.ErrorTypeInvalid, "spec.maxItems", "leave it out for 1000"},
		{"too many", number(10001), false, field.ErrorTypeInvalid, "spec.maxItems", "1 to 10000"},
		{"no bound", func(s *spec) { s.MaxItems = nil }, true, field.ErrorTypeRequired, "spec.maxItems", ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			old, now := newCollection(t), newCollection(t)
			tc.change(&now.Spec)
			errs, ephemeral := ValidateInfraCollectionUpdate(now, old), ValidateEphemeralInfraCollectionUpdate(ephemeralOf(now), ephemeralOf(old))
			if tc.created {
				errs, ephemeral = ValidateInfraCollectionCreate(now), ValidateEphemeralInfraCollectionCreate(ephemeralOf(now))
			}
			for _, e := range []field.ErrorList{errs, ephemeral} {
				want(t, e, tc.kind, tc.path)
				if tc.kind != "" && !strings.Contains(e[0].Error(), tc.remarks) {
					t.Errorf("%v lacks %q", e[0], tc.remarks)
				}
			}
		})
	}
	over := int32(20000)
	old := newCollection(t)
	old.Spec.MaxItems = &over
	now := old.DeepCopy()
	now.Labels = map[string]string{"a": "b"}
	want(t, ValidateInfraCollectionUpdate(now, old), "", "") // a bound was lowered since
	if n := newCollection(t).Spec.MaxItems; n == nil || *n != 1000 {
		t.Errorf("maxItems is %v by default", n)
	}
}

func TestValidateCollectionStatus(t *testing.T) {
	type status = socialweb.InfraCollectionStatus
	good := func(c string) status {
		uri := "at://" + alice + "/" + c + "/"
		return status{
			ObservedGeneration: 2, ExecuteGranted: true, Items: 3,
			Children: []socialweb.CollectionChild{
				{URI: uri + "a", Name: "a", CID: aCID},
				{URI: uri + "b", BoundBy: "mine"},
				{URI: uri + "c", Conflict: socialweb.NameConflict},
			},
			Conditions: []metav1.Condition{{Type: socialweb.ConditionTruncated, Status: metav1.ConditionFalse, Reason: "Fits", LastTransitionTime: *at(0)}},
		}
	}
	cases := []struct {
		name   string
		change func(*status)
		kind   field.ErrorType
		path   string
	}{
		{"as it is", func(*status) {}, "", ""},
		{"empty", func(s *status) { *s = status{} }, "", ""},
		{"negative generation", func(s *status) { s.ObservedGeneration = -1 }, field.ErrorTypeInvalid, "status.observedGeneration"},
		{"negative items", func(s *status) { s.Items = -1 }, field.ErrorTypeInvalid, "status.items"},
		{"condition without a reason", func(s *status) { s.Conditions[0].Reason = "" }, field.ErrorTypeRequired, "status.conditions[0].reason"},
		{"child without a uri", func(s *status) { s.Children[1].URI = "" }, field.ErrorTypeRequired, "status.children[1].uri"},
		{"child of another collection", func(s *status) { s.Children[1].URI = "at://" + alice + "/com.example.thing/b" }, field.ErrorTypeInvalid, "status.children[1].uri"},
		{"child twice", func(s *status) { s.Children[1].URI = s.Children[0].URI }, field.ErrorTypeDuplicate, "status.children[1].uri"},
		{"child's name", func(s *status) { s.Children[0].Name = "A" }, field.ErrorTypeInvalid, "status.children[0].name"},
		{"child's CID", func(s *status) { s.Children[0].CID = "x" }, field.ErrorTypeInvalid, "status.children[0].cid"},
		{"child's binding", func(s *status) { s.Children[1].BoundBy = "A" }, field.ErrorTypeInvalid, "status.children[1].boundBy"},
		{"child's conflict", func(s *status) { s.Children[2].Conflict = "Other" }, field.ErrorTypeNotSupported, "status.children[2].conflict"},
		{"too many children", func(s *status) { s.Children = make([]socialweb.CollectionChild, 10001) }, field.ErrorTypeTooMany, "status.children"},
		{"too large", func(s *status) {
			uri := s.Children[0].URI
			s.Children = make([]socialweb.CollectionChild, 5000)
			for i := range s.Children {
				s.Children[i] = socialweb.CollectionChild{URI: fmt.Sprintf("%s%04d%s", uri, i, long(100)), CID: aCID}
			}
		}, field.ErrorTypeInvalid, "status.children"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			now := newCollection(t)
			now.Status = good("computer.socialweb.infra")
			tc.change(&now.Status)
			want(t, ValidateInfraCollectionStatusUpdate(now, newCollection(t)), tc.kind, tc.path)
			now.Status = good("computer.socialweb.ephemeralInfra")
			tc.change(&now.Status)
			want(t, ValidateEphemeralInfraCollectionStatusUpdate(ephemeralOf(now), ephemeralOf(newCollection(t))), tc.kind, tc.path)
		})
	}
}
