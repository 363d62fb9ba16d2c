// Package dev runs everything in one process: an embedded etcd, an embedded PDS
// (or somebody's own), the API server, and their credentials, all on loopback
// and all under one data directory.
//
//	d := dev.NewOptions()
//	d.DataDir = ".infra"
//	err := dev.Run(ctx, d) // returns nil when ctx ends
//
// The data directory holds
//
//	lock              held while a process uses the directory
//	etcd/             the database of the API server
//	pds/              the embedded PDS
//	pki/              the certificate authority and what it signed
//	credentials/      identifier, password and PDS of each AtprotoRepo
//	admin.kubeconfig  system:masters, by client certificate
//	server.log        what the command logs, but for errors
//	pds.json          where the PDS is and whose account it has
package dev
