package repostore

import (
	"context"
	"fmt"
	"sync"

	"github.com/bluesky-social/indigo/atproto/atdata"
	"github.com/bluesky-social/indigo/atproto/syntax"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
	"socialweb.computer/infra-apiserver/internal/atproto/recordcid"
)

// memRepo is an account's repository in memory that answers as the reference PDS
// does: a put of the very bytes that are there writes nothing and doesn't check
// its swap, a delete of an absent record is no commit, a record without $type gets
// one. It keeps its whole history, and can be told to fail in every way in which
// a PDS on a network can.
type memRepo struct {
	did string
	// hook, where set, is called before each call ("get", "prove", "latest",
	// "list", "export", "put", "delete"). It may block, and decides how the call
	// fails; the zero fault lets it pass.
	hook func(ctx context.Context, call string, key atproto.Key) memFault

	mu       sync.Mutex // guards what follows
	down     error      // what every call answers, nil: it works
	calls    map[string]int
	records  map[atproto.Key][]byte // DAG-CBOR
	log      []memCommit
	late     []func() // writes that were sent and have not arrived yet
	rev      int64
	watchers []*memSubscription
	dirty    bool // the next export lacks blocks
	unsigned bool // its events don't carry the records
}

// memFault is what goes wrong with one call.
type memFault struct {
	// err is answered instead of the call, which doesn't happen.
	err error
	// lost: the write happens, but its answer is lost.
	lost bool
	// late: the answer is lost, and the write happens when land is called.
	late bool
}

// memCommit is one commit of the history.
type memCommit struct {
	rev, since string
	key        atproto.Key
	cid        string // "": deleted
	bytes      []byte
	by         string // the actor of the context, see withActor
	late       bool
}

func newMemRepo(did string) *memRepo {
	r := &memRepo{did: did, records: map[atproto.Key][]byte{}, calls: map[string]int{}}
	r.rev = 1_700_000_000_000_000
	return r
}

type actorKey struct{}

// withActor names who makes the calls of a context, for the history.
func withActor(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

func actorFrom(ctx context.Context) string {
	name, _ := ctx.Value(actorKey{}).(string)
	return name
}

// setDown makes every call fail with err; nil ends it.
func (r *memRepo) setDown(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = err
}

// count is how often a call was made since the last reset.
func (r *memRepo) count(call string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[call]
}

func (r *memRepo) resetCounts() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.calls)
}

// land lets the oldest late write arrive; false: there is none.
func (r *memRepo) land() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.late) == 0 {
		return false
	}
	f := r.late[0]
	r.late = r.late[1:]
	f()
	return true
}

// history is a copy of all commits.
func (r *memRepo) history() []memCommit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]memCommit(nil), r.log...)
}

// commits is how many there are.
func (r *memRepo) commits() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.log)
}

// head is the newest rev.
func (r *memRepo) head() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.headLocked()
}

func (r *memRepo) headLocked() string { return syntax.NewTID(r.rev, 7).String() }

// cidAt is the CID of a record at a rev; "" is absent.
func (r *memRepo) cidAt(key atproto.Key, rev string) string {
	cid := ""
	for _, c := range r.history() {
		if c.rev > rev {
			break
		}
		if c.key == key {
			cid = c.cid
		}
	}
	return cid
}

// value is a record as it is now, nil: absent.
func (r *memRepo) value(key atproto.Key) map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return decodeRecord(r.records[key])
}

// commitLocked writes a record (nil bytes: deletes it) and announces it.
func (r *memRepo) commitLocked(by string, key atproto.Key, b []byte, cid string, late bool) *atproto.Commit {
	c := memCommit{since: r.headLocked(), key: key, cid: cid, bytes: b, by: by, late: late}
	action := "update"
	switch _, there := r.records[key]; {
	case b == nil:
		delete(r.records, key)
		action = "delete"
	case !there:
		action = "create"
	}
	if b != nil {
		r.records[key] = b
	}
	r.rev++
	c.rev = r.headLocked()
	r.log = append(r.log, c)
	e := events.Event{Kind: events.Commit, DID: r.did, Rev: c.rev, Since: c.since,
		Ops: []events.Op{{Action: action, Collection: key.Collection, RKey: key.RKey, CID: cid}}}
	if b != nil && !r.unsigned {
		e.Records = map[string][]byte{cid: b}
	}
	for _, w := range r.watchers {
		w.push(e)
	}
	return &atproto.Commit{CID: commitCID(c.rev), Rev: c.rev}
}

// together edits several records in one commit.
func (r *memRepo) together(values map[atproto.Key]map[string]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := events.Event{Kind: events.Commit, DID: r.did, Since: r.headLocked(), Records: map[string][]byte{}}
	r.rev++
	e.Rev = r.headLocked()
	for key, value := range values {
		b, cid, err := encodeRecord(key, value)
		if err != nil {
			panic(err)
		}
		r.records[key] = b
		r.log = append(r.log, memCommit{rev: e.Rev, since: e.Since, key: key, cid: cid, bytes: b, by: foreigner})
		e.Ops = append(e.Ops, events.Op{Action: "update", Collection: key.Collection, RKey: key.RKey, CID: cid})
		e.Records[cid] = b
	}
	for _, w := range r.watchers {
		w.push(e)
	}
}

// commitCID stands for the CID of a commit.
func commitCID(rev string) string { return mustCID(map[string]any{"rev": rev}) }

func mustCID(value map[string]any) string {
	cid, err := recordcid.Of(value)
	if err != nil {
		panic(err)
	}
	return cid
}

func mustCIDOfBytes(b []byte) string {
	cid, err := recordcid.OfBytes(b)
	if err != nil {
		panic(err)
	}
	return cid
}

func encodeRecord(key atproto.Key, value map[string]any) ([]byte, string, error) {
	if _, ok := value["$type"]; !ok {
		filled := map[string]any{"$type": key.Collection}
		for k, v := range value {
			filled[k] = v
		}
		value = filled
	}
	b, err := atdata.MarshalCBOR(value)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", atproto.ErrInvalidRecord, err)
	}
	cid, err := recordcid.OfBytes(b)
	return b, cid, err
}

func decodeRecord(b []byte) map[string]any {
	if b == nil {
		return nil
	}
	value, err := atdata.UnmarshalCBOR(b)
	if err != nil {
		return nil // exists, and is no data of the atproto model
	}
	return value
}

// enter counts a call and lets the hook and the switch fail it.
func (r *memRepo) enter(ctx context.Context, call string, key atproto.Key) (memFault, error) {
	if actorFrom(ctx) == foreigner {
		return memFault{}, nil
	}
	var f memFault
	if r.hook != nil {
		f = r.hook(ctx, call, key)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[call]++
	switch {
	case f.err != nil:
		return f, f.err
	case r.down != nil:
		return f, r.down
	case ctx.Err() != nil:
		return f, fmt.Errorf("%w: %w", atproto.ErrUnavailable, ctx.Err())
	}
	return f, nil
}

// foreigner is the actor of edits made elsewhere. It reaches the PDS even where we
// can't.
const foreigner = "foreigner"

// foreign edits a record as another client of the account would: unconditionally.
// A nil value deletes it.
func (r *memRepo) foreign(key atproto.Key, value map[string]any) atproto.Commit {
	ctx := withActor(context.Background(), foreigner)
	if value == nil {
		c, err := r.DeleteRecord(ctx, key, atproto.Swap{Any: true})
		if err != nil {
			panic(err)
		}
		if c == nil {
			return atproto.Commit{Rev: r.head()}
		}
		return *c
	}
	res, err := r.PutRecord(ctx, key, value, atproto.Swap{Any: true})
	if err != nil {
		panic(err)
	}
	if res.Commit == nil {
		return atproto.Commit{Rev: r.head()}
	}
	return *res.Commit
}
