package provider

import (
	"strings"
	"testing"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// ourExport is what Init applies.
func ourExport(t *testing.T) *apisv1alpha2.APIExport {
	t.Helper()
	o := Options{URLs: []string{"https://kcp.example.com/services/infra"}, Export: DefaultExport}
	objects, err := o.objects()
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objects {
		if obj.GetKind() != "APIExport" {
			continue
		}
		var e apisv1alpha2.APIExport
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &e); err != nil {
			t.Fatal(err)
		}
		return &e
	}
	t.Fatal("there is no APIExport")
	return nil
}

func TestConflicts(t *testing.T) {
	const ours = "socialweb.computer"
	foreign := apisv1alpha2.ResourceSchema{Name: "widgets", Group: "example.com", Schema: "v1.widgets.example.com"}
	for name, c := range map[string]struct {
		change func(*apisv1alpha2.APIExport)
		want   []string // of each fault a part; none: it may be touched
	}{
		"the same": {func(*apisv1alpha2.APIExport) {}, nil},
		"other schemas": {func(e *apisv1alpha2.APIExport) {
			e.Spec.Resources[0].Schema = "v1alpha0-1." + e.Spec.Resources[0].Schema
		}, nil},
		"fewer kinds":       {func(e *apisv1alpha2.APIExport) { e.Spec.Resources = e.Spec.Resources[:2] }, nil},
		"nothing yet":       {func(e *apisv1alpha2.APIExport) { e.Spec.Resources = nil }, nil},
		"claims of others":  {func(e *apisv1alpha2.APIExport) { e.Spec.PermissionClaims = nil }, nil},
		"kinds beside ours": {func(e *apisv1alpha2.APIExport) { e.Spec.Resources = append(e.Spec.Resources, foreign); ownedByUs(e) }, nil},
		"somebody else's": {
			func(e *apisv1alpha2.APIExport) { e.Spec.Resources = []apisv1alpha2.ResourceSchema{foreign} },
			[]string{"exports widgets.example.com, and isn't of this program"},
		},
		"in kcp": {
			func(e *apisv1alpha2.APIExport) {
				e.Spec.Resources[0].Storage = apisv1alpha2.ResourceSchemaStorage{CRD: &apisv1alpha2.ResourceSchemaStorageCRD{}}
				e.Spec.Resources[1].Storage = apisv1alpha2.ResourceSchemaStorage{}
				ownedByUs(e)
			},
			[]string{"exports atprotorepos, computecontracts, whose objects are in kcp (storage.crd)"},
		},
		"other slice": {
			func(e *apisv1alpha2.APIExport) { e.Spec.Resources[0].Storage.Virtual.Reference.Name = "other" },
			[]string{"exports atprotorepos, which another server serves, by InfraEndpointSlice.kcp.socialweb.computer other"},
		},
		"other kind of slice": {
			func(e *apisv1alpha2.APIExport) {
				e.Spec.Resources[0].Storage.Virtual.Reference.APIGroup = ptr.To("cache.kcp.io")
				e.Spec.Resources[0].Storage.Virtual.Reference.Kind = "CachedResourceEndpointSlice"
			},
			[]string{"by CachedResourceEndpointSlice.cache.kcp.io infra"},
		},
		"other identity": {
			func(e *apisv1alpha2.APIExport) { e.Spec.Resources[0].Storage.Virtual.IdentityHash = "theirs" },
			[]string{`exports atprotorepos, with the identityHash "theirs", not "infra-apiserver"`},
		},
		"newer kinds": {
			func(e *apisv1alpha2.APIExport) {
				r := *e.Spec.Resources[0].DeepCopy()
				r.Name = "superinfras"
				e.Spec.Resources = append(e.Spec.Resources, r)
				ownedByUs(e)
			},
			[]string{"exports superinfras, which this version doesn't serve"},
		},
		"several": {
			func(e *apisv1alpha2.APIExport) {
				e.Spec.Resources[0].Storage = apisv1alpha2.ResourceSchemaStorage{CRD: &apisv1alpha2.ResourceSchemaStorageCRD{}}
				e.Spec.Resources[1].Storage.Virtual.IdentityHash = "theirs"
			},
			[]string{"storage.crd", "identityHash"},
		},
	} {
		want := ourExport(t)
		have := want.DeepCopy()
		c.change(have)
		found := conflicts(have, want)
		if len(found) != len(c.want) {
			t.Errorf("%s: %v", name, found)
			continue
		}
		for i, part := range c.want {
			if !strings.Contains(found[i].Fault, part) || found[i].Remedy == "" {
				t.Errorf("%s: %v", name, found[i])
			}
		}
	}
	if want := ourExport(t); want.Spec.Resources[0].Group != ours {
		t.Errorf("kinds of %s", want.Spec.Resources[0].Group)
	}
}

func ownedByUs(e *apisv1alpha2.APIExport) {
	e.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kcp"}, {Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply}}
}
