package repostore

import (
	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
)

// told is what a commit in the event stream says that a record became: its CID and
// its bytes, which the source has verified to be the account's at that rev. It is
// no less true than what the PDS proves when it is asked, but older: it was so
// before the ingest read the view. So it stands for asking only where nothing can
// have come between that the ingest would miss.
type told struct {
	cid   string
	bytes []byte
}

// tellings are the records that an event lets us take from it, by key: edits. A
// record that appears or goes is always asked for, so that no event can create an
// object or delete one, however late it comes.
func tellings(e events.Event) map[atproto.Key]*told {
	out := map[atproto.Key]*told{}
	for _, op := range e.Ops {
		key := atproto.Key{Collection: op.Collection, RKey: op.RKey}
		data, ok := e.Records[op.CID]
		if _, twice := out[key]; twice || !ok || op.Action != "update" {
			out[key] = nil
			continue
		}
		out[key] = &told{op.CID, data}
	}
	return out
}

// believe is the record as it was told, where it need not be asked for; else nil.
// The view is there and shows this record at an earlier rev (ingestOnce has
// looked), and the record was told is of a later one, so:
//
//   - the view's rev rises, to a state in which the record was (I6);
//   - the record was not deleted since by anybody whose deletion is in the views:
//     the view would be gone, or orphaned. One that was re-created elsewhere has
//     been asked for (S4, S5);
//   - no write of ours is under way or may still land, whose private part the
//     record would have to be matched with (S1, S3, S6);
//   - nobody has called the views up to date at this rev or a later one while this
//     view stayed as it is, because the record changed back: the horizon (I7).
//
// What comes between here and the write fails its compares: of the view, the
// intent, the tombstones and the horizon.
func (sn snapshot) believe(m *mount, uri recordURI, o ingestOptions) *atproto.Record {
	switch {
	case o.told == nil,
		sn.stamp.URI != uri.String(), // no view: a retained record, or one that has just appeared
		sn.intent != nil, len(sn.tombstones) > 0,
		o.reach <= sn.horizon,
		m.doubtful():
		return nil
	}
	rec, err := atproto.DecodeRecord(o.told.cid, o.told.bytes)
	if err != nil {
		return nil
	}
	return rec
}

// doubtful tells that the last call to the PDS failed, or the account is not
// active: asking tells whether that is over.
func (m *mount) doubtful() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err != nil || m.inactive
}

// toldBound is how many bytes of records a repository's line of events holds at
// most; what is beyond is asked for.
const toldBound = 8 << 20

// keepLocked keeps what an event told of a record, if there is room.
func (p *progress) keepLocked(t *told) *told {
	if t == nil || p.held+len(t.bytes) > toldBound {
		return nil
	}
	p.held += len(t.bytes)
	return t
}

// forgetLocked takes a record of c out of the line.
func (p *progress) forgetLocked(c *commit, key atproto.Key) {
	if t := c.open[key]; t != nil {
		p.held -= len(t.bytes)
	}
	delete(c.open, key)
}
