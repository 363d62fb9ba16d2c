// Package events delivers what happens in the repositories of one PDS.
package events

import "context"

// Kind of an Event.
type Kind string

const (
	// Commit: records were written; Ops tells which.
	Commit Kind = "Commit"
	// Gap: events may have been missed (first connect, reconnect without a usable
	// cursor, since ≠ the rev before, OutdatedCursor, FutureCursor,
	// ConsumerTooSlow, a commit that does not verify, a commit too big for its
	// ops). The receiver must compare the whole repository. Rev may be "".
	Gap Kind = "Gap"
	// Account: the account's state changed; Active and Status tell how. It is
	// never a deletion of records.
	Account Kind = "Account"
)

// Op is one record change within a commit.
type Op struct {
	// Action is create, update or delete, as the event says.
	Action string
	// Collection and RKey name the record.
	Collection, RKey string
	// CID after the change, "" for a delete.
	CID string
}

// Event is something that happened in one repository. Events are hints: they
// may come late, twice or (a commit that was later lost) without truth behind
// them. The receiver reads the record, unless Records holds it and nothing that
// the receiver knows is later.
type Event struct {
	Kind Kind
	// DID of the repository.
	DID string
	// Rev after the commit.
	Rev string
	// Since is the rev before the commit, "" where the source doesn't tell.
	Since string
	// Ops of a Commit, only those of the collections subscribed to. It may be
	// empty: the repository moved in other collections.
	Ops []Op
	// Records holds, by CID, the bytes (DAG-CBOR) of what Ops wrote, where the
	// source has verified that these are the account's: the commit's signature, the
	// place of each record in its tree, and each block's hash. nil: it has not.
	Records map[string][]byte
	// Reason says in a few words why this is a Gap.
	Reason string
	// Active and Status of an Account event, in the lexicon's terms.
	Active bool
	Status string
}

// Handler receives the events of one repository, one at a time and in order; those
// of different repositories may be called at the same time. It must return soon: it
// is called on the source's reading goroutine. It must not call the source.
type Handler func(Event)

// Source delivers events of the repositories of one PDS host.
type Source interface {
	// Subscribe delivers did's events to h until cancel is called; after cancel
	// returned h is not called again. A subscription begins with a Gap: at once
	// while the source is connected, else as soon as it is.
	Subscribe(did string, h Handler) (cancel func())
	// Run connects, delivers and reconnects with backoff until ctx ends. It is
	// called once, and returns nil when ctx ended.
	Run(ctx context.Context) error
	// Connected tells whether the source is receiving now; it is the Streaming
	// condition.
	Connected() bool
}
