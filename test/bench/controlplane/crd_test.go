//go:build e2e

package controlplane

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

const (
	crdGroup   = "bench.socialweb.test"
	crdVersion = "v1alpha1"
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// createCRD makes the kind Infra as a CRD of our schema.
func (e *env) createCRD(b *testing.B) {
	b.Helper()
	_, err := plane.Admin().Dynamic.Resource(crds).Create(b.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "infras." + crdGroup},
		"spec": map[string]any{
			"group": crdGroup, "scope": "Cluster",
			"names": map[string]any{"plural": "infras", "singular": "infra", "kind": "Infra", "listKind": "InfraList"},
			"versions": []any{map[string]any{
				"name": crdVersion, "served": true, "storage": true,
				"schema":       map[string]any{"openAPIV3Schema": e.schema(b)},
				"subresources": map[string]any{"status": map[string]any{}},
			}},
		},
	}}, metav1.CreateOptions{})
	require.NoError(b, err)
	harness.Eventually(b, func(ctx context.Context) error {
		_, err := e.crd.list(ctx, "")
		return err
	})
}

// schema is our kind's, as the aggregator publishes it, in the structural form that a
// CRD wants.
func (e *env) schema(b *testing.B) any {
	b.Helper()
	var data []byte
	harness.Eventually(b, func(ctx context.Context) (err error) { // the aggregator publishes it a while later
		data, err = e.ours.do(ctx, "GET", "/openapi/v3/apis/socialweb.computer/v1alpha1", nil)
		return err
	})
	var doc struct {
		Components struct{ Schemas map[string]map[string]any }
	}
	require.NoError(b, json.Unmarshal(data, &doc))
	for name, s := range doc.Components.Schemas {
		if strings.HasSuffix(name, ".v1alpha1.Infra") {
			root := structural(s, doc.Components.Schemas).(map[string]any)
			root["properties"].(map[string]any)["metadata"] = map[string]any{"type": "object"}
			return root
		}
	}
	b.Fatal("the kind Infra has no schema")
	return nil
}

// structural puts what is referred to in place of the references.
func structural(v any, schemas map[string]map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		refs := []any{v}
		if all, ok := v["allOf"].([]any); ok {
			refs = append(refs, all...)
		}
		for _, r := range refs {
			if name, ok := r.(map[string]any)["$ref"].(string); ok {
				for k, x := range structural(schemas[strings.TrimPrefix(name, "#/components/schemas/")], schemas).(map[string]any) {
					out[k] = x
				}
			}
		}
		for k, x := range v {
			switch k {
			case "$ref", "allOf", "x-kubernetes-group-version-kind", "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key":
			default:
				out[k] = structural(x, schemas)
			}
		}
		// The zero values of Go's types are published as defaults, which the rest of the
		// schema may not allow.
		if d, ok := v["default"]; ok && (d == "" || reflect.DeepEqual(d, map[string]any{})) {
			delete(out, "default")
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = structural(x, schemas)
		}
		return out
	default:
		return v
	}
}
