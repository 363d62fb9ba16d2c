// Package controlplane measures our kind against the same one as a CRD, on one real
// control plane: one kube-apiserver, through which both are asked, and one etcd. It
// takes programs of bin/, so it has the build tag e2e; `make bench` runs it and writes
// its section of docs/benchmarks.md. Nothing here passes or fails by its time.
//
// The custom resources are copies of our objects, so that both sides serve the same
// bytes. Answers are read to their end and not decoded: that costs a client the same on
// either side.
package controlplane
