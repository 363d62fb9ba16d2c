package apiserver

import (
	"k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"

	generatedopenapi "socialweb.computer/infra-apiserver/pkg/generated/openapi"
)

// describe sets both OpenAPI documents. Version 2 is what kube-apiserver
// aggregates, version 3 what kubectl explain and server-side apply read.
func describe(c *genericapiserver.RecommendedConfig) {
	namer := openapi.NewDefinitionNamer(Scheme)
	c.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, namer)
	c.OpenAPIConfig.Info.Title, c.OpenAPIConfig.Info.Version = "infra-apiserver", componentVersion
	c.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, namer)
	c.OpenAPIV3Config.Info.Title, c.OpenAPIV3Config.Info.Version = "infra-apiserver", componentVersion
}
