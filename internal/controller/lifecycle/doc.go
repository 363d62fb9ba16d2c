// Package lifecycle decides what the controller does: from what was observed of a
// deployment and its ComputeContracts to the deployment's next status and the acts
// that follow from it. It reads nothing, writes nothing and knows no clock.
//
// The memory of a deployment is its status.requests: a contract has an entry from
// before its ComputeContract is created until after that is gone. A caller writes the
// next status first, with the resourceVersion that it had read, and acts only then.
// So of two callers one acts on what is true, and a caller that ends between any two
// steps leaves a state from which the next goes on.
//
// Order of reading: deployment.go, observed.go, decide.go, step.go.
package lifecycle
