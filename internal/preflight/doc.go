// Package preflight looks whether a cluster has what an aggregated API server
// needs, and whether something stands in its way, and says for each fault the
// kubectl command that mends it.
package preflight
