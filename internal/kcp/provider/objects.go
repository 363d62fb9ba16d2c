package provider

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"socialweb.computer/infra-apiserver/artifacts/kcp"
)

// objects of the provider workspace, in the order in which they are applied, with the
// export's name and the URLs of the options in place.
func (o *Options) objects() ([]*unstructured.Unstructured, error) {
	objects, err := kcp.Provider()
	if err != nil {
		return nil, err
	}
	for _, obj := range objects {
		switch obj.GetKind() {
		case "InfraEndpointSlice":
			err = o.endpoints(obj)
		case "ClusterRole", "ClusterRoleBinding":
			err = o.rights(obj)
		case "APIExport":
			obj.SetName(o.Export)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
	return objects, nil
}

func (o *Options) endpoints(obj *unstructured.Unstructured) error {
	var endpoints []any
	for _, u := range o.URLs {
		endpoints = append(endpoints, map[string]any{"url": u})
	}
	return unstructured.SetNestedSlice(obj.Object, endpoints, "status", "endpoints")
}

// rights are of one export: its name is in theirs, and in the rules.
func (o *Options) rights(obj *unstructured.Unstructured) error {
	obj.SetName(o.renamed(obj.GetName()))
	if obj.GetKind() == "ClusterRoleBinding" {
		role, _, err := unstructured.NestedString(obj.Object, "roleRef", "name")
		if err != nil {
			return err
		}
		return unstructured.SetNestedField(obj.Object, o.renamed(role), "roleRef", "name")
	}
	rules, _, err := unstructured.NestedSlice(obj.Object, "rules")
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if r, ok := rule.(map[string]any); ok && r["resourceNames"] != nil {
			r["resourceNames"] = []any{o.Export}
		}
	}
	return unstructured.SetNestedSlice(obj.Object, rules, "rules")
}

func (o *Options) renamed(name string) string {
	if rest, ok := strings.CutPrefix(name, DefaultExport+"-"); ok {
		return o.Export + "-" + rest
	}
	return name
}
