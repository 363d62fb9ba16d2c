// Package repos mounts the repositories that AtprotoRepo objects name, over all
// workspaces, and tells in their status what became of it.
//
// In the order of reading:
//
//   - manager.go: the manager, its queue and its workers
//   - mirror.go: the AtprotoRepos as the API has them
//   - reconcile.go: one AtprotoRepo, from its spec to the hub and back
//   - resolve.go, connect.go, auth.go, sources.go: how an account is reached
//   - permit.go: where a password may be sent
//   - status.go: conditions, and how seldom they are written
//   - use.go: an AtprotoRepo in use is not deleted
//   - collectionkind.go, collectionmirror.go, collections.go: the collections, and which
//     of them makes whose records appear
//   - collectionstatus.go, collectionend.go: their statuses, and how they go
//
// A mount never waits for the network: what the status remembers of an earlier
// look is enough, so that a start during an outage serves what it can.
package repos
