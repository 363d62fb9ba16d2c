// Package kubectl tests the server with the real kubectl: dev on the embedded PDS
// and on the reference PDS, and with the build tag e2e the replicas of a real
// control plane, through its aggregator.
package kubectl
