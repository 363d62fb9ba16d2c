// Package etcdcerts makes the certificates by which an etcd in the cluster and the
// API server know each other, and keeps them in two Secrets: one that only etcd's
// pod reads, with the authority and its key, and one with what the API server shows.
//
// The Secrets are there before; filling them in takes the right to update these two.
// What is good stays, so that it may run at each start of etcd's pod.
package etcdcerts
