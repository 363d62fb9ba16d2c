// Package kubectlinfra is the kubectl plugin `kubectl infra`: it shows a deployment
// with all that belongs to it, moves contracts from state to state, compares an
// object with its record and waits for phases.
//
// It talks to the API alone, but for `record`, which reads the record from its PDS.
// Its flags are client-go's own set of kubectl's. Nothing of cli-runtime is used: its
// flags come with kustomize and a cache of discovery, and the kinds are known here.
package kubectlinfra
