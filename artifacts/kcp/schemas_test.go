package kcp_test

import (
	"regexp"
	"slices"
	"testing"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/utils/clock"
	"sigs.k8s.io/randfill"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/fuzzer"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/install"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/registry"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/atprotorepo"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/computecontract"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/deployment"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/infracollection"
)

// kinds as they are served, by the resource's name.
func kinds() map[string]registry.Kind {
	out := map[string]registry.Kind{}
	for _, k := range []registry.Kind{
		deployment.Infra(), deployment.EphemeralInfra(), atprotorepo.Kind(false), computecontract.Kind(clock.RealClock{}),
		infracollection.InfraCollection(), infracollection.EphemeralInfraCollection(),
	} {
		out[k.Resource.Resource] = k
	}
	return out
}

// A schema becomes a CustomResourceDefinition in a bound workspace, so it has to be a
// valid, structural one. What kcp asks of the name beside.
func TestSchemas(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	schemas := decoded[*apisv1alpha1.APIResourceSchema](t)
	if len(schemas) != len(kinds()) {
		t.Errorf("%d schemas of %d kinds", len(schemas), len(kinds()))
	}
	for _, s := range schemas {
		plural := s.Spec.Names.Plural
		suffix := "." + plural + "." + s.Spec.Group
		if prefix := s.Name[:len(s.Name)-min(len(suffix), len(s.Name))]; prefix+suffix != s.Name || !name.MatchString(prefix) {
			t.Errorf("kcp refuses the name %s", s.Name)
		}
		crd := definition(t, s)
		var internal apiextensions.CustomResourceDefinition
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, &internal, nil); err != nil {
			t.Fatal(err)
		}
		for _, err := range crdvalidation.ValidateCustomResourceDefinition(t.Context(), &internal) {
			t.Errorf("%s: %v", plural, err)
		}
		if s.Spec.Versions[0].Subresources.Status == nil {
			t.Errorf("%s has no status", plural)
		}
	}
}

// definition is the CustomResourceDefinition that kcp makes of a schema.
func definition(t *testing.T, s *apisv1alpha1.APIResourceSchema) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	v := &s.Spec.Versions[0]
	schema, err := v.GetSchema()
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: s.Spec.Names.Plural + "." + s.Spec.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: s.Spec.Group, Names: s.Spec.Names, Scope: s.Spec.Scope,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: v.Name, Served: v.Served, Storage: v.Storage, Subresources: &v.Subresources,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
			}},
		},
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	crd.Status.StoredVersions = []string{v.Name}
	return crd
}

// kcp tells the names of the schemas, our server those of the kinds.
func TestNames(t *testing.T) {
	served := kinds()
	for _, s := range decoded[*apisv1alpha1.APIResourceSchema](t) {
		names := s.Spec.Names
		k, ok := served[names.Plural]
		if !ok {
			t.Errorf("%s isn't served", names.Plural)
			continue
		}
		if k.Resource.Group != s.Spec.Group || k.Version.Version != s.Spec.Versions[0].Name || k.Singular.Resource != names.Singular {
			t.Errorf("%s: %v, %v", s.Name, k.Resource, k.Singular)
		}
		if !slices.Equal(k.ShortNames, names.ShortNames) || !slices.Equal(k.Categories, names.Categories) {
			t.Errorf("%s: short names %v, categories %v", s.Name, names.ShortNames, names.Categories)
		}
	}
}

// Whatever an object can have, its schema knows.
func TestSchemasHaveEveryField(t *testing.T) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	fill := randfill.New().NilChance(0).NumElements(1, 2).MaxDepth(20)
	for _, f := range fuzzer.Funcs(serializer.NewCodecFactory(scheme)) {
		fill.Funcs(f)
	}
	fill.Funcs(func(m *metav1.ObjectMeta, _ randfill.Continue) { m.Name = "x" })
	for _, s := range decoded[*apisv1alpha1.APIResourceSchema](t) {
		crd := definition(t, s)
		var internal apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil); err != nil {
			t.Fatal(err)
		}
		structural, err := structuralschema.NewStructural(&internal)
		if err != nil {
			t.Fatal(err)
		}
		obj, err := scheme.New(v1alpha1.SchemeGroupVersion.WithKind(s.Spec.Names.Kind))
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			fill.Fill(obj)
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
			if err != nil {
				t.Fatal(err)
			}
			if lost := pruning.PruneWithOptions(content, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}); len(lost) > 0 {
				t.Fatalf("%s doesn't know %v", s.Name, lost)
			}
		}
	}
}
