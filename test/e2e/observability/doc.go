// Package observability tests what kube-apiserver and the server tell of one request
// together: its trace, and its audit events. Its plane logs and exports everything.
package observability
