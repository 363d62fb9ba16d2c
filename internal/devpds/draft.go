package devpds

import "github.com/ipfs/go-cid"

// draft is the next snapshot in the making, with the same change for the store.
type draft struct {
	next   *snapshot
	change repoChange
}

// newDraft begins from cur.
func newDraft(cur *snapshot, rev string) *draft {
	d := &draft{next: cur.fork(), change: repoChange{did: cur.did}}
	d.next.rev = rev
	return d
}

// put adds a block; one that is there keeps its rev.
func (d *draft) put(c cid.Cid, data []byte) {
	if d.next.has(c) {
		return
	}
	b := block{key: c.KeyString(), rev: d.next.rev, data: data}
	d.next.blocks.ReplaceOrInsert(b)
	d.change.put = append(d.change.put, b)
}

// drop removes a block.
func (d *draft) drop(c cid.Cid) {
	d.next.blocks.Delete(block{key: c.KeyString()})
	d.change.drop = append(d.change.drop, c)
}

// records applies ops to the index and to the records' blocks. It returns by how
// much each record CID's number of paths changes; refs are the numbers before.
// A record's block goes with its last path.
func (d *draft) records(ops []op, refs map[string]int) map[string]int {
	delta := make(map[string]int, 2*len(ops))
	for _, o := range ops {
		if o.prev.Defined() {
			delta[o.prev.KeyString()]--
		}
		if o.value.Defined() {
			delta[o.value.KeyString()]++
		}
	}
	for _, o := range ops {
		if o.prev.Defined() && refs[o.prev.KeyString()]+delta[o.prev.KeyString()] == 0 && d.next.has(o.prev) {
			d.drop(o.prev)
		}
	}
	for _, o := range ops {
		if !o.value.Defined() {
			d.next.records.Delete(record{path: o.path})
			d.change.removed = append(d.change.removed, o.path)
			continue
		}
		d.put(o.value, o.data)
		old, _ := d.next.record(o.path)
		rec := record{path: o.path, cid: o.value, takedown: old.takedown, json: &lazyJSON{}}
		d.next.records.ReplaceOrInsert(rec)
		d.change.records = append(d.change.records, rec)
	}
	return delta
}
