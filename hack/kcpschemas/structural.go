package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// kept are the extensions that a structural schema knows. The others tell strategic
// merge patches and clients what no custom resource has.
var kept = []string{"x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"}

// quantityPattern is what a resource.Quantity looks like as a string.
const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

var objectMeta = metav1.ObjectMeta{}.OpenAPIModelName()

// definitions are the OpenAPI definitions of the types, by model name.
type definitions map[string]common.OpenAPIDefinition

// structural is the schema of a model with all that it refers to in place.
func (d definitions) structural(model string) (*apiextensionsv1.JSONSchemaProps, error) {
	switch model {
	case objectMeta: // apiextensions fills it in
		return &apiextensionsv1.JSONSchemaProps{Type: "object"}, nil
	case resource.Quantity{}.OpenAPIModelName():
		return &apiextensionsv1.JSONSchemaProps{
			XIntOrString: true, Pattern: quantityPattern,
			AnyOf: []apiextensionsv1.JSONSchemaProps{{Type: "integer"}, {Type: "string"}},
		}, nil
	}
	def, ok := d[model]
	if !ok {
		return nil, fmt.Errorf("there is no definition of %s", model)
	}
	out, err := d.convert(&def.Schema)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", model, err)
	}
	return out, nil
}

// convert one schema. Whatever it has that would be lost is an error.
func (d definitions) convert(in *spec.Schema) (*apiextensionsv1.JSONSchemaProps, error) {
	out := &apiextensionsv1.JSONSchemaProps{}
	if ref := strings.TrimPrefix(in.Ref.String(), refPrefix); ref != "" {
		var err error
		if out, err = d.structural(ref); err != nil || ref == objectMeta {
			return out, err // which nothing may be added to, not even a description
		}
	}
	if in.Description != "" {
		out.Description = in.Description
	}
	if err := d.shape(in, out); err != nil {
		return nil, err
	}
	if err := extensions(in.Extensions, out); err != nil {
		return nil, err
	}
	if err := setDefault(in.Default, out); err != nil {
		return nil, err
	}
	return out, unknown(in)
}

// shape of a schema: its type and what is inside.
func (d definitions) shape(in *spec.Schema, out *apiextensionsv1.JSONSchemaProps) error {
	if len(in.Type) > 1 {
		return fmt.Errorf("types %v", in.Type)
	}
	if len(in.Type) == 1 {
		out.Type, out.Format = in.Type[0], in.Format
	}
	if len(in.Required) > 0 {
		out.Required = slices.Sorted(slices.Values(in.Required))
	}
	for _, value := range in.Enum {
		raw, err := json.Marshal(value)
		if err != nil {
			return err
		}
		out.Enum = append(out.Enum, apiextensionsv1.JSON{Raw: raw})
	}
	for _, name := range slices.Sorted(maps.Keys(in.Properties)) {
		property := in.Properties[name]
		converted, err := d.convert(&property)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if out.Properties == nil {
			out.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
		}
		out.Properties[name] = *converted
	}
	if in.Items != nil {
		item, err := d.convert(in.Items.Schema)
		if err != nil {
			return fmt.Errorf("items: %w", err)
		}
		out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: item}
	}
	if in.AdditionalProperties != nil {
		value, err := d.convert(in.AdditionalProperties.Schema)
		if err != nil {
			return fmt.Errorf("values: %w", err)
		}
		out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: value}
	}
	return nil
}

// extensions that a structural schema has fields for.
func extensions(in spec.Extensions, out *apiextensionsv1.JSONSchemaProps) error {
	known := map[string]any{}
	for _, name := range kept {
		if value, ok := in[name]; ok {
			known[name] = value
		}
	}
	raw, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// setDefault keeps a default that the type's author wrote. The generator of the
// definitions gives every field without a pointer the zero value, which says nothing,
// and which a schema with required fields would refuse.
func setDefault(value any, out *apiextensionsv1.JSONSchemaProps) error {
	if value == nil || reflect.ValueOf(value).IsZero() {
		return nil
	}
	if m, ok := value.(map[string]any); ok && len(m) == 0 {
		return nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	out.Default = &apiextensionsv1.JSON{Raw: raw}
	return nil
}

// unknown is an error where a schema has what convert doesn't look at.
func unknown(in *spec.Schema) error {
	rest := *in
	rest.Ref = spec.Ref{}
	rest.ID, rest.Description, rest.Type, rest.Format, rest.Default = "", "", nil, "", nil
	rest.Required, rest.Enum, rest.Properties, rest.Items, rest.AdditionalProperties = nil, nil, nil, nil, nil
	rest.Extensions = nil
	if reflect.DeepEqual(rest, spec.Schema{}) {
		return nil
	}
	raw, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	return fmt.Errorf("this is lost: %s", raw)
}
