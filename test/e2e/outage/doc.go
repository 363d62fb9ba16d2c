// Package outage tests what a cluster keeps when our replicas, or the PDS, are away,
// and that all comes back without a restart.
package outage
