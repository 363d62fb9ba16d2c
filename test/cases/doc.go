// Package cases holds, by their kind, the failures of other API servers that keep
// their objects in a store of their own, as tests of this one. They speak over
// HTTP, as any client would: to dev, or, with the build tag e2e, through the aggregator
// of a real control plane to two replicas.
package cases
