// Package kcp holds the manifests by which a kcp serves our kinds: those of the provider
// workspace, and examples of a tenant's. The schemas and the APIExport are generated from
// the API types by hack/kcpschemas.
package kcp

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Files of this directory, by their paths below it.
//
//go:embed *.yaml apiresourceschemas/*.yaml examples/*.yaml
var Files embed.FS

// provider is every manifest of the provider workspace, in an order in which each
// finds what it refers to.
var provider = []string{
	"infraendpointslice-crd.yaml", "infraendpointslice.yaml", "cachedresource.yaml",
	"apiresourceschemas/*.yaml",
	"maximal-permission-policy.yaml", "bind.yaml", "server.yaml",
	"apiexport.yaml",
}

// Provider are the objects of the provider workspace, in the order in which they are to
// be applied: each comes after what it refers to. The caller may change them.
func Provider() ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, pattern := range provider {
		names, err := fs.Glob(Files, pattern)
		if err != nil {
			return nil, fmt.Errorf("manifests %s: %w", pattern, err)
		}
		for _, name := range names {
			objects, err := Objects(name)
			if err != nil {
				return nil, err
			}
			out = append(out, objects...)
		}
	}
	return out, nil
}

// Objects of one file, in its order.
func Objects(name string) ([]*unstructured.Unstructured, error) {
	content, err := Files.ReadFile(path.Clean(name))
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	var out []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		obj := &unstructured.Unstructured{}
		if err := d.Decode(&obj.Object); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("manifest %s: %w", name, err)
		}
		if len(obj.Object) > 0 {
			out = append(out, obj)
		}
	}
}
