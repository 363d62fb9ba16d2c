package repostore

import (
	"slices"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// proof is what the PDS proved of a record in the course of an ingest, and what was
// read before.
type proof struct {
	before snapshot
	rec    *atproto.Record
	rev    string
}

// holds tells whether the proof, which was read before sn, is as good for it. An object
// whose status is written more often than the PDS can be asked would never come up to
// its record otherwise. So it holds where nothing has changed but the private part: the
// view is there and shows the record as it was, no intent is open, none was dropped,
// and the horizon stands. What the record was at a later rev than the view's, the view
// may become, as with what an event tells (told.go).
func (p *proof) holds(sn snapshot) bool {
	return p != nil && p.before.there() && sn.there() && p.before.intent == nil && sn.intent == nil &&
		p.before.stamp.URI == sn.stamp.URI && p.before.stamp.CID == sn.stamp.CID && p.before.stamp.Rev == sn.stamp.Rev &&
		p.before.horizonRevision == sn.horizonRevision && sn.stamp.Rev < p.rev &&
		!slices.ContainsFunc(sn.tombstones, func(it *intent) bool { return it.modRevision > p.before.head })
}
