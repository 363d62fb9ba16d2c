package events

import (
	"strings"
	"testing"

	comatproto "github.com/bluesky-social/indigo/api/atproto"
)

func TestFirehoseGaps(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil  func(*comatproto.SyncSubscribeRepos_Commit)
		reason string
	}{
		"since": {func(c *comatproto.SyncSubscribeRepos_Commit) {
			other := "3kaaaaaaaaa22"
			c.Since = &other
		}, "missing"},
		"no since": {func(c *comatproto.SyncSubscribeRepos_Commit) { c.Since = nil }, "missing"},
		"too big":  {func(c *comatproto.SyncSubscribeRepos_Commit) { c.TooBig = true }, "too big"},
		"no blocks": {func(c *comatproto.SyncSubscribeRepos_Commit) {
			c.Blocks = nil
		}, "verify"},
		"other commit": {func(c *comatproto.SyncSubscribeRepos_Commit) {
			c.Commit = *c.PrevData
		}, "verify"},
		"wrong op": {func(c *comatproto.SyncSubscribeRepos_Commit) {
			c.Ops[0].Cid = c.PrevData
		}, "verify"},
		"hidden op": {func(c *comatproto.SyncSubscribeRepos_Commit) {
			c.Ops = nil
		}, "verify"},
		"other prevData": {func(c *comatproto.SyncSubscribeRepos_Commit) {
			link := c.Commit
			c.PrevData = &link
		}, "verify"},
		"other account": {func(c *comatproto.SyncSubscribeRepos_Commit) {
			stranger := newAccount(t)
			stranger.commit(1, "a", "A")
			c.Blocks = stranger.prev.CAR(t, nil)
		}, "verify"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFirehose(t, 0, nil)
			c := h.stream.next(t)
			h.want(t, Gap, "")
			a := h.acct.commit(1, "a", "A")
			h.sendCommit(t, c, a)
			h.want(t, Commit, a.Rev)
			b := h.acct.commit(2, "b", "B")
			tc.spoil(b)
			h.sendCommit(t, c, b)
			if e := h.want(t, Gap, b.Rev); !strings.Contains(e.Reason, tc.reason) {
				t.Errorf("reason %q", e.Reason)
			}
			// After a Gap the chain goes on from its rev.
			d := h.acct.commit(3, "d", "D")
			h.sendCommit(t, c, d)
			h.want(t, Commit, d.Rev)
		})
	}
}

func TestFirehoseSignature(t *testing.T) {
	h := newFirehose(t, 0, func(o *FirehoseOptions) { o.Keys = newAccount(t) })
	c := h.stream.next(t)
	h.want(t, Gap, "")
	a := h.acct.commit(1, "a", "A")
	h.sendCommit(t, c, a)
	h.want(t, Gap, a.Rev)
}
