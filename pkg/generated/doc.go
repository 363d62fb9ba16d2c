// Package generated holds what hack/update-codegen.sh writes: the clientset,
// listers, informers, apply configurations and OpenAPI definitions of the API
// group socialweb.computer. Nothing below it is edited by hand.
package generated
