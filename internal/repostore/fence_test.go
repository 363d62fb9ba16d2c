package repostore

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// The fence's value is the highest rev of a deletion, in whatever order they end; its
// revision rises with each.
func TestFenceNeverGoesBack(t *testing.T) {
	r := alone(t)
	const low, high = "3k22222222222", "3kzzzzzzzzzzz"
	var before int64
	for _, c := range []struct{ rev, want string }{{low, low}, {high, high}, {low, high}} {
		if _, err := r.store.txn(r.ctx(), "fence", nil, []clientv3.Op{r.store.bumpFence(r.ws, testDID, c.rev)}); err != nil {
			t.Fatal(err)
		}
		_, sn, err := r.store.lookRecord(r.ctx(), r.ws, recordURI{testDID, recordKey("o")}, nil)
		if err != nil || sn.deleted != c.want || sn.fence <= before {
			t.Errorf("after %s: %q at revision %d, it was at %d; %v", c.rev, sn.deleted, sn.fence, before, err)
		}
		before = sn.fence
	}
}

// What is deleted between the look of an ingest and the object that it makes of the
// record as of a rev stops it, unless the record is there in spite of it.
func TestCreationComparesTheFence(t *testing.T) {
	const first, early, proved, late = "3k22222222222", "3k33333333333", "3k44444444444", "3k55555555555"
	detach := func(r *replica, uri recordURI) clientv3.Op { return r.store.detachOp(r.ws, uri) }
	bump := func(rev string) func(*replica, recordURI) clientv3.Op {
		return func(r *replica, uri recordURI) clientv3.Op { return r.store.bumpFence(r.ws, uri.did, rev) }
	}
	for what, c := range map[string]struct {
		before  string // the fence's value at the look; "": there is none
		between func(*replica, recordURI) clientv3.Op
		makes   bool
	}{
		"nothing":                           {first, nil, true},
		"a deletion before":                 {first, bump(early), true},
		"one in the same commit":            {first, bump(proved), true},
		"a later one":                       {first, bump(late), false},
		"the first one":                     {"", bump(early), false},
		"one behind a PDS that went back":   {late, bump(early), false},
		"none behind a PDS that went back":  {late, nil, true},
		"one that left the record detached": {first, detach, false},
	} {
		r := newWorld(t).replica("A")
		uri := recordURI{testDID, recordKey("p")}
		if c.before != "" {
			if _, err := r.store.txn(r.ctx(), "fence", nil, []clientv3.Op{bump(c.before)(r, uri)}); err != nil {
				t.Fatal(err)
			}
		}
		_, sn, err := r.store.lookRecord(r.ctx(), r.ws, uri, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.between != nil {
			if _, err := r.store.txn(r.ctx(), "fence", nil, []clientv3.Op{c.between(r, uri)}); err != nil {
				t.Fatal(err)
			}
		}
		resp, err := r.store.txn(r.ctx(), "make", r.store.creation(r.ws, uri, sn, proved), nil)
		if err != nil || resp.Succeeded != c.makes {
			t.Errorf("%s: made %v, %v", what, resp.Succeeded, err)
		}
	}
}
