//go:build e2e

package kcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testkubectl"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// permissive is a definition of one of kcp's kinds.
const permissive = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: Cluster
  names: {plural: %[1]s, kind: %[3]s}
  versions:
  - name: %[4]s
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties: {%[5]s}
---
`

// lists of an APIExport are merged by their keys, and a storage has a default.
const lists = `
  resources: {
    type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name, group],
    items: {type: object, x-kubernetes-preserve-unknown-fields: true, required: [name, group], properties: {
      name: {type: string}, group: {type: string},
      storage: {type: object, x-kubernetes-preserve-unknown-fields: true, default: {crd: {}}}}}},
  permissionClaims: {
    type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [group, resource],
    items: {type: object, x-kubernetes-preserve-unknown-fields: true, required: [resource], properties: {
      group: {type: string, default: ""}, resource: {type: string}}}}
`

// define kinds of kcp, as PLURAL.GROUP/VERSION=KIND.
func define(t *testing.T, k *testkubectl.Kubectl, kinds ...string) {
	t.Helper()
	var text strings.Builder
	versions := map[string][]string{}
	wait := []string{"wait", "--for=condition=Established", "--timeout=3m"}
	for _, k := range kinds {
		name, kind, _ := strings.Cut(k, "=")
		name, version, _ := strings.Cut(name, "/")
		plural, group, _ := strings.Cut(name, ".")
		properties := ""
		if kind == "APIExport" {
			properties = strings.ReplaceAll(lists, "\n", " ")
		}
		fmt.Fprintf(&text, permissive, plural, group, kind, version, properties)
		wait = append(wait, "crd/"+name)
		versions["/apis/"+group+"/"+version] = append(versions["/apis/"+group+"/"+version], `"`+plural+`"`)
	}
	k.RunIn(t, text.String(), "apply", "-f", "-")
	k.Run(t, wait...)
	for path, plurals := range versions { // discovery comes a moment later
		harness.Eventually(t, func(ctx context.Context) error {
			out, err := plane.Admin().Core.Discovery().RESTClient().Get().AbsPath(path).DoRaw(ctx)
			for _, plural := range plurals {
				if err == nil && !strings.Contains(string(out), plural) {
					err = errors.New(plural + " isn't served")
				}
			}
			return err
		})
	}
}
