package devpds

import (
	"time"

	"github.com/ipfs/go-cid"
)

// store is what is durable. A change is all or nothing: a reader that saw its
// effect will see it after a crash too.
type store interface {
	// load reads everything but the events.
	load() (*saved, error)
	// apply makes a change durable in one transaction.
	apply(change) error
	// events after a seq, in order, at most limit.
	events(after uint64, limit int) ([]event, error)
	// close releases it.
	close() error
}

// saved is what load returns.
type saved struct {
	// secret signs session tokens.
	secret []byte
	// accounts, tokens and repos, in no order.
	accounts []*account
	tokens   []refreshToken
	repos    map[string]*snapshot
	// lastSeq is the newest event's, forgotten the newest that was dropped.
	lastSeq, forgotten uint64
}

// change is one transaction.
type change struct {
	// secret, if set, replaces the secret.
	secret []byte
	// accounts to write.
	accounts []*account
	// tokens to write and to drop (by id).
	tokens  []refreshToken
	revoked []string
	// repo to change.
	repo *repoChange
	// events to append; their seqs follow the last one.
	events []event
	// forget drops the events up to this seq.
	forget uint64
}

// repoChange is what a commit, or a takedown, does to a repository.
type repoChange struct {
	did string
	// commit and rev are the new root.
	commit cid.Cid
	rev    string
	// put and drop are blocks.
	put  []block
	drop []cid.Cid
	// records to write, and paths to remove.
	records []record
	removed []string
}

// event is one firehose message.
type event struct {
	seq uint64
	// at is when it was sequenced.
	at time.Time
	// frame is the whole message, header and body.
	frame []byte
}

// memoryStore keeps nothing: the server's own memory is the store.
type memoryStore struct{ secret []byte }

func (m memoryStore) load() (*saved, error)             { return &saved{secret: m.secret}, nil }
func (memoryStore) apply(change) error                  { return nil }
func (memoryStore) events(uint64, int) ([]event, error) { return nil, nil }
func (memoryStore) close() error                        { return nil }
