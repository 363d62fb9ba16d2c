package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/openapi"
)

const refPrefix = "#/definitions/"

// shortNames by kind. A kind without one is an error: it was forgotten here.
var shortNames = map[string]string{
	"AtprotoRepo": v1alpha1.ShortNameAtprotoRepo, "ComputeContract": v1alpha1.ShortNameComputeContract,
	"Infra": v1alpha1.ShortNameInfra, "EphemeralInfra": v1alpha1.ShortNameEphemeralInfra,
	"InfraCollection": v1alpha1.ShortNameInfraCollection, "EphemeralInfraCollection": v1alpha1.ShortNameEphemeralInfraCollection,
}

// generate is every file, by its path below artifacts/kcp.
func generate() (map[string][]byte, error) {
	schemas, err := apiResourceSchemas()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, s := range schemas {
		if files[path.Join(schemasDir, s.Spec.Names.Plural+".yaml")], err = file("", s); err != nil {
			return nil, err
		}
	}
	files["apiexport.yaml"], err = file(exportComment, apiExport(schemas))
	return files, err
}

// file is an object as YAML, without the empty status and the time that it never had.
func file(comment string, obj runtime.Object) ([]byte, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	delete(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	if err := completeClaims(content); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(content)
	return append([]byte(header+comment), text...), err
}

// completeClaims names the core group where a claim is of it: the group is a key of the
// claims, and an apply needs every key.
func completeClaims(content map[string]any) error {
	claims, found, err := unstructured.NestedSlice(content, "spec", "permissionClaims")
	if err != nil || !found {
		return err
	}
	for _, claim := range claims {
		if c, ok := claim.(map[string]any); ok && c["group"] == nil {
			c["group"] = ""
		}
	}
	return unstructured.SetNestedSlice(content, claims, "spec", "permissionClaims")
}

// apiResourceSchemas of all kinds, in the order of their names.
func apiResourceSchemas() ([]*apisv1alpha1.APIResourceSchema, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	d := definitions(openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef(refPrefix + name) }))
	var out []*apisv1alpha1.APIResourceSchema
	for kind, typ := range scheme.KnownTypes(v1alpha1.SchemeGroupVersion) {
		obj := reflect.New(typ).Interface()
		if _, ok := obj.(metav1.Object); !ok { // a list, or options
			continue
		}
		named, ok := obj.(interface{ OpenAPIModelName() string })
		if !ok {
			return nil, fmt.Errorf("%s has no model name", kind)
		}
		s, err := apiResourceSchema(d, kind, named.OpenAPIModelName())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *apisv1alpha1.APIResourceSchema) int {
		return strings.Compare(a.Spec.Names.Plural, b.Spec.Names.Plural)
	})
	return out, nil
}

// apiResourceSchema of a kind. Its spec can't be changed in a workspace, so a digest
// of it is in the name: what differs is another object.
func apiResourceSchema(d definitions, kind, model string) (*apisv1alpha1.APIResourceSchema, error) {
	short, ok := shortNames[kind]
	if !ok {
		return nil, errors.New("it has no short name")
	}
	schema, err := d.structural(model)
	if err != nil {
		return nil, err
	}
	singular := strings.ToLower(kind)
	version := apisv1alpha1.APIResourceVersion{
		Name: v1alpha1.SchemeGroupVersion.Version, Served: true, Storage: true,
		Subresources: apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
	}
	if err := version.SetSchema(schema); err != nil {
		return nil, err
	}
	s := &apisv1alpha1.APIResourceSchema{
		TypeMeta:   metav1.TypeMeta{APIVersion: apisv1alpha1.SchemeGroupVersion.String(), Kind: "APIResourceSchema"},
		ObjectMeta: metav1.ObjectMeta{Labels: labels()},
		Spec: apisv1alpha1.APIResourceSchemaSpec{
			Group: v1alpha1.GroupName,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: singular + "s", Singular: singular, Kind: kind, ListKind: kind + "List",
				ShortNames: []string{short}, Categories: []string{v1alpha1.CategorySocialweb},
			},
			Scope:    apiextensionsv1.ClusterScoped,
			Versions: []apisv1alpha1.APIResourceVersion{version},
		},
	}
	raw, err := json.Marshal(s.Spec)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(raw)
	s.Name = fmt.Sprintf("%s-%x.%s.%s", version.Name, digest[:4], s.Spec.Names.Plural, s.Spec.Group)
	return s, nil
}

// labels of all that is ours in the provider workspace.
func labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "infra-apiserver"}
}
