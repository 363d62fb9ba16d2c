// Package socialweb holds the internal types of the API group
// socialweb.computer: what the server works with, whichever version a client
// speaks. Package v1alpha1 is what clients see; the fields are the same, and are
// documented there for users.
//
// +k8s:deepcopy-gen=package
// +groupName=socialweb.computer
package socialweb
