package events

import (
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// A verified commit brings the records that it wrote; one whose signature nobody
// checks brings none.
func TestFirehoseRecords(t *testing.T) {
	for _, signed := range []bool{true, false} {
		h := newFirehose(t, 0, func(o *FirehoseOptions) {
			if !signed {
				o.Keys = nil
			}
		})
		c := h.stream.next(t)
		h.want(t, Gap, "")
		for seq, text := range []string{"A", "B", ""} {
			m := h.acct.commit(int64(seq+1), "a", text)
			h.sendCommit(t, c, m)
			e := h.want(t, Commit, m.Rev)
			data, ok := e.Records[e.Ops[0].CID]
			if want := signed && text != ""; ok != want {
				t.Fatalf("signed %v, %q: record %v, want %v", signed, text, ok, want)
			}
			if !ok {
				continue
			}
			rec, err := atproto.DecodeRecord(e.Ops[0].CID, data)
			if err != nil || rec.Value["description"] != text {
				t.Errorf("%q: %+v, %v", text, rec, err)
			}
		}
		h.stop()
	}
}
