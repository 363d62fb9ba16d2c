// Package api tests the whole server through its HTTP API, as clients see it: the
// generated clientset and plain HTTP on one side, plain XRPC straight to the PDS
// on the other. Between the server and its PDS stands a fault proxy.
//
// Every test that is marked "on both PDSes" runs on the embedded PDS and on the
// reference PDS; the others on the embedded one.
package api
