// Package bindings tells which workspaces of a kcp bind an APIExport, and which don't any
// more. kcp tells nobody when a workspace goes or unbinds: it just isn't shown from then
// on. So all APIBindings are listed every minute, and the conclusion that one is gone is
// drawn late, and from complete answers alone:
//
//   - a round is complete where the endpoint slice says that its export is valid and every
//     shard has answered with its whole list. A shard that the slice names no more, as kcp
//     does once its last workspace has unbound, is asked itself as long as a workspace was
//     last seen there
//   - a workspace is gone once two complete rounds, Apart from each other, have not shown
//     it, and no round since the first of them, complete or not, has
//   - one that is shown again is bound at once
//
// Nothing is kept on disk: a Watcher that starts knows nothing of a workspace that isn't
// shown, until it is Apart older. What was concluded before stays where it was written.
package bindings
