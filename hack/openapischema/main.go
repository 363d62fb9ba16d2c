// Command openapischema prints the OpenAPI definitions of the API types as JSON.
// hack/update-codegen.sh feeds them to applyconfiguration-gen, which puts the
// merge rules of every field (atomic lists, map keys) into the clients: without
// them the fake clientset can't apply and managed fields can't be extracted.
package main

import (
	"encoding/json"
	"log"
	"os"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"socialweb.computer/infra-apiserver/pkg/generated/openapi"
)

func main() {
	ref := func(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) }
	definitions := spec.Definitions{}
	for name, def := range openapi.GetOpenAPIDefinitions(ref) {
		definitions[name] = schemaOf(def)
	}
	swagger := spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Info:        &spec.Info{InfoProps: spec.InfoProps{Title: "infra-apiserver", Version: "unversioned"}},
		Definitions: definitions,
	}}
	if err := json.NewEncoder(os.Stdout).Encode(&swagger); err != nil {
		log.Fatalf("openapischema: %v", err)
	}
}

// schemaOf is the definition's OpenAPI v2 schema: some types carry one beside
// that of v3.
func schemaOf(def common.OpenAPIDefinition) spec.Schema {
	if v2, ok := def.Schema.Extensions[common.ExtensionV2Schema].(spec.Schema); ok {
		return v2
	}
	return def.Schema
}
