// Package v1alpha1 is the served version of the API group socialweb.computer:
// Infra and EphemeralInfra, whose declaration is an atproto record, and
// AtprotoRepo, the repository that such records live in. All kinds are
// cluster-scoped.
//
// +k8s:openapi-gen=true
// +k8s:deepcopy-gen=package
// +k8s:conversion-gen=socialweb.computer/infra-apiserver/pkg/apis/socialweb
// +k8s:defaulter-gen=TypeMeta
// +k8s:openapi-model-package=computer.socialweb.infra-apiserver.pkg.apis.socialweb.v1alpha1
// +groupName=socialweb.computer
package v1alpha1
