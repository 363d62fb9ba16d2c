// Package deploy installs the server on a real control plane as artifacts/deploy
// says, and looks at what its accounts and its users may do. It has a plane of its
// own, since it takes the APIService away from the plane's replicas.
package deploy
