// Package controller keeps what a deployment promises: it requests the contracts of
// Infras and EphemeralInfras, follows what becomes of them, ends the ephemeral ones
// and lets nothing go before it is released. It talks to the API alone and knows no
// PDS.
//
// What is to be done is decided in package lifecycle. Here it is carried out:
// deployment.go and contract.go reconcile one object each, over the interfaces of
// api.go and cache.go; clients.go, contractcalls.go and informers.go implement those
// with the generated clients. Any number of controllers may run at once, with caches
// that are behind: every step is safe by resourceVersion or uid. One is elected so
// that they don't do the same work.
package controller
