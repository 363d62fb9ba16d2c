package atproto

import "context"

// Record is one record as the repository holds it.
type Record struct {
	// CID is the record's content identifier (CIDv1, dag-cbor, sha-256) in its
	// string form. Every Record that leaves this package has been checked
	// against it.
	CID string
	// Value is the record in the atproto data model (package atdata of indigo):
	// strings, bools, int64, nil, []any, map[string]any, CIDLink, Bytes, Blob.
	// Unknown fields are kept. It is nil where the record's bytes are what the
	// CID says but no data of the atproto model (a float, an integer over 64
	// bits, no map at all): such a record exists and is invalid.
	Value map[string]any
}

// Commit names one state of a repository.
type Commit struct {
	// CID is the commit's content identifier.
	CID string
	// Rev is the repository revision, a TID: it rises strictly within one
	// repository, also for writes to collections that are not ours, compares as
	// a string, and is not comparable between repositories.
	Rev string
}

// Key names a record within its repository.
type Key struct {
	// Collection is an NSID.
	Collection string
	// RKey is the record key.
	RKey string
}

// Path is the key of the record in the repository's MST: "collection/rkey".
func (k Key) Path() string { return k.Collection + "/" + k.RKey }

// Swap is the condition of a write.
type Swap struct {
	// Any makes the write unconditional; CID is ignored then.
	Any bool
	// CID is what the record must be now; "" means that it must not exist.
	CID string
}

// PutResult is the answer to a put.
type PutResult struct {
	// CID of the record as stored. It differs from what was sent where the PDS
	// changed the record (a missing $type filled in).
	CID string
	// Commit is nil when the PDS wrote nothing because the record had these very
	// bytes already. The swap was then NOT checked.
	Commit *Commit
}

// ListedRecord is a record of a listing, with its key.
type ListedRecord struct {
	RKey string
	Record
}

// Repo is one account's repository. All methods are safe for concurrent use and
// return errors that wrap the sentinels of this package.
type Repo interface {
	// DID of the account.
	DID() string
	// Host is the base URL of the PDS, for messages and budgets.
	Host() string

	// GetRecord reads one record (com.atproto.repo.getRecord).
	// ErrRecordNotFound: the repository is there, the record is not.
	GetRecord(ctx context.Context, key Key) (*Record, error)
	// ProveRecord reads one record with the rev at which it was read
	// (com.atproto.sync.getRecord) and checks the proof, of presence or absence,
	// up to the signed commit. A nil record is proven absent.
	ProveRecord(ctx context.Context, key Key) (*Record, Commit, error)
	// LatestCommit is com.atproto.sync.getLatestCommit.
	LatestCommit(ctx context.Context) (Commit, error)
	// ListRecords returns one page in rkey order, descending, and the cursor of
	// the next ("" when there is none). A walk is not a snapshot, but a record
	// that does not change during the walk is in it exactly once.
	ListRecords(ctx context.Context, collection, cursor string, limit int) ([]ListedRecord, string, error)
	// Export returns every record of the collections at one commit
	// (com.atproto.sync.getRepo), complete and verified, or ErrIncomplete when
	// the PDS could not give a consistent export; the caller lists then.
	Export(ctx context.Context, collections []string) (map[Key]Record, Commit, error)

	// PutRecord creates or replaces a record under the swap. ErrInvalidSwap when
	// it is not met. Any other error but ErrUnknownOutcome means that nothing was
	// written.
	PutRecord(ctx context.Context, key Key, value map[string]any, swap Swap) (PutResult, error)
	// DeleteRecord deletes a record under the swap (CID "" is not allowed). A nil
	// commit means that there was nothing to delete.
	DeleteRecord(ctx context.Context, key Key, swap Swap) (*Commit, error)
}
