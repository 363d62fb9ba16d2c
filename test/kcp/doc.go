// Package kcp tests the server as a shard of kcp sees it: over mutual TLS, by the
// paths of workspaces, without a user. A recorded shard, which sends what kcp's
// virtual storage sends, takes the place of kcp; where KCP_KUBECONFIG names a real
// one, a part of the tests goes through that too.
package kcp
