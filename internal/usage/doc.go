// Package usage knows how many objects each workspace has in etcd and how many bytes
// they take, and bounds both.
//
// A Tracker follows the objects' keys by watches of etcd. What this process is about to
// write and the tracker has not seen yet is held as a Reservation, under the key of the
// object: it counts until the tracker has come so far, and never beside the object that
// it became. So a bound is exact within one process, however many writes come at once.
// Several processes pass it together only by what they make within the same moment.
//
// An open intent of package repostore counts as the object that it may become, and what
// a dropped one leaves as bytes: else a tenant whose PDS takes puts and never answers
// could fill etcd with creations that have no outcome.
//
// Where a write is checked:
//
//   - A storage.Interface around that of each resource (pkg/apiserver) reserves for
//     every creation, also one by an update (server-side apply), and for every update
//     that makes an object larger. generateName comes there once for each name that is
//     tried. A dry run doesn't come there, and counts nothing.
//   - Deletions, also those that finalizers hold, and writes of a status are never
//     refused; a status creates nothing. Nor is an update that brings something to its
//     end: what that adds is no growth.
//   - An ingest (internal/repostore) takes room for a record that no object shows and
//     none has shown. What is written back, published or settled needs none.
package usage
