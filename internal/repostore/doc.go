// Package repostore is a storage.Interface of Kubernetes whose content is an
// atproto repository.
//
// A write is a putRecord that must win its swap before anything else changes; a
// read asks the PDS; a watch follows the repository's commits. Between the two
// lies the view: the whole object in etcd, stamped with the CID and the rev of
// the record that it reflects.
//
// The package in the order of reading:
//
//   - keys.go, workspace.go, names.go: where things lie and how they are named
//   - stamp.go, view.go: the view and what it says about its record
//   - intent.go, fence.go, horizon.go, txn.go: the lock of a record, the fence and
//     the horizon of a repository, and the transaction that every change of a view
//     goes through
//   - create.go, follow.go, update.go, delete.go, public.go, outrun.go: the write path
//   - join.go, dropped.go, merge.go: private writes beside one whose outcome is
//     unknown
//   - ingest.go, appear.go, told.go, proof.go, settle.go: bringing a view up to its
//     record
//   - collection.go, room.go, members.go: records that appear by a collection
//   - workspaceroom.go: what bounds how many records appear in a workspace
//   - viewalone.go: objects of a repository that is only read
//   - mount.go, barrier.go, resync.go: a repository and how far it is ingested
//   - read.go: the read path
//   - publisher.go: observed status on its way to the record
//   - observe.go, unpublished.go: what metrics and traces are told
//   - errors.go: the sentinels, and the one map from them to API errors
//
// Invariants, each stated again where it is kept:
//
//	I1  A public write changes the view only after its put won its swap.
//	I2  Every transaction on a view compares the record's intent key: while an
//	    intent is open only its settlement touches the view, or a private write
//	    that changes the intent's object with it, once the owner can't acknowledge
//	    its write any more (join.go).
//	I3  A writer knows its success by its nonce, never by a CID.
//	I4  An intent is settled by whoever reads the intent first and the record
//	    after.
//	I5  An ingest makes an object only if no view of its record was deleted since it
//	    read the record (the fence).
//	I6  A view's rev never goes back.
//	I7  A consistent read returns nothing older than the repository was when the
//	    read began, or fails.
package repostore
