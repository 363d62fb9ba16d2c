package events

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	comatproto "github.com/bluesky-social/indigo/api/atproto"
	"github.com/ipfs/go-cid"

	"socialweb.computer/infra-apiserver/internal/atproto/carproof"
)

// process delivers a message unless it has been seen.
func (f *Firehose) process(ctx context.Context, m *message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.info != nil {
		if m.info.Name == "OutdatedCursor" {
			clear(f.revs)
			f.hub.gapAll("OutdatedCursor: the PDS no longer has the events since")
		}
		return
	}
	if m.seq == 0 || m.seq <= f.cursor {
		return
	}
	switch {
	case m.commit != nil:
		f.commit(ctx, m.commit)
	case m.sync != nil:
		if f.hub.subscribed(m.sync.Did) {
			f.gap(m.sync.Did, m.sync.Rev, "#sync: the repository was replaced")
		}
	case m.account != nil:
		ev := Event{Kind: Account, DID: m.account.Did, Active: m.account.Active}
		if m.account.Status != nil {
			ev.Status = *m.account.Status
		}
		f.hub.deliver(ev)
	}
	select {
	case <-f.hub.changed:
		maps.DeleteFunc(f.revs, func(did, _ string) bool { return !f.hub.subscribed(did) })
	default:
	}
	f.cursor = m.seq
	close(f.progress)
	f.progress = make(chan struct{})
}

// keyWait is how long a commit waits for the lookup of its account's key. The
// lookup itself goes on, for the next commit.
const keyWait = 500 * time.Millisecond

// commit delivers a commit, or a Gap where it doesn't follow on the last one or
// can't be believed.
func (f *Firehose) commit(ctx context.Context, c *comatproto.SyncSubscribeRepos_Commit) {
	did := c.Repo
	if !f.hub.subscribed(did) {
		delete(f.revs, did)
		return
	}
	last, known := f.revs[did]
	if known && c.Rev <= last {
		return // seen before, on the other connection
	}
	since := ""
	if c.Since != nil {
		since = *c.Since
	}
	switch {
	case c.TooBig:
		f.gap(did, c.Rev, "the commit is too big for its operations")
		return
	case known && since != last:
		f.gap(did, c.Rev, "commits are missing")
		return
	}
	// One account's key must not hold up the others' events for long.
	bounded, cancel := context.WithTimeout(ctx, keyWait)
	blocks, err := verifiedBlocks(bounded, f.o.Keys, c)
	cancel()
	if err != nil {
		f.complaints.log(ctx, f.o.Clock, err, "Commit in the event stream", "firehose", f.o.URL, "did", did, "rev", c.Rev)
		f.gap(did, c.Rev, "a commit does not verify")
		return
	}
	f.revs[did] = c.Rev
	ev := Event{Kind: Commit, DID: did, Rev: c.Rev, Since: since, Ops: f.ops(c)}
	if f.o.Keys != nil { // else nobody has looked at the signature
		ev.Records = records(ev.Ops, blocks)
	}
	f.hub.deliver(ev)
}

// gap tells did's subscribers to look for themselves. What follows must follow
// on rev.
func (f *Firehose) gap(did, rev, reason string) {
	f.revs[did] = rev
	f.hub.deliver(Event{Kind: Gap, DID: did, Rev: rev, Reason: reason})
}

// ops are those of the collections subscribed to.
func (f *Firehose) ops(c *comatproto.SyncSubscribeRepos_Commit) []Op {
	var out []Op
	for _, op := range c.Ops {
		collection, rkey, ok := strings.Cut(op.Path, "/")
		if !ok || !wanted(f.o.Collections, collection) {
			continue
		}
		o := Op{Action: op.Action, Collection: collection, RKey: rkey}
		if op.Cid != nil {
			o.CID = op.Cid.String()
		}
		out = append(out, o)
	}
	return out
}

// records are the bytes of what ops wrote, by CID.
func records(ops []Op, blocks *carproof.Blocks) map[string][]byte {
	out := map[string][]byte{}
	for _, op := range ops {
		id, err := cid.Decode(op.CID)
		if err != nil {
			continue // a delete
		}
		if data, err := blocks.Get(id); err == nil {
			out[op.CID] = data
		}
	}
	return out
}

func wanted(collections []string, collection string) bool {
	return len(collections) == 0 || slices.Contains(collections, collection)
}
