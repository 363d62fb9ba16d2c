// Package e2e tests the server as part of a real control plane: see package harness
// for how to write a case. The tests have the build tag e2e; `make e2e` runs them.
package e2e
