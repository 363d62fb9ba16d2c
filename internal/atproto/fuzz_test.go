package atproto

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bluesky-social/indigo/atproto/atdata"

	"socialweb.computer/infra-apiserver/internal/atproto/internal/cartest"
	"socialweb.computer/infra-apiserver/internal/atproto/recordcid"
)

// FuzzDecodeRecord: whatever a PDS sends as a record, what comes out has the CID
// that came with it, or nothing comes out.
func FuzzDecodeRecord(f *testing.F) {
	for _, s := range []string{
		`{"$type":"a.b.c","description":"A"}`, `{"$type":"a.b.c","n":9007199254740991}`, `{"x":1.5}`, `{"x":1e400}`, `[]`, `null`, ``,
		`{"x":{"$link":"` + someCID + `"}}`, `{"x":{"$bytes":"AA"}}`, `{"x":{"$type":"blob","ref":{"$link":"x"}}}`, `{"a":{"b":[{"c":null}]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if rec, ok := decodeJSON(recordOutput{CID: someCID, Value: b}); ok {
			if id, err := recordcid.Of(rec.Value); err != nil || id != someCID {
				t.Errorf("a record with CID %s, %v passes for %s", id, err, someCID)
			}
		}
		var v map[string]any
		if json.Unmarshal(b, &v) != nil {
			return
		}
		// What we would send can be hashed: the storage needs its CID beforehand.
		if CheckRecord(v) == nil {
			if _, err := recordcid.Of(v); err != nil {
				t.Errorf("%s: %v", b, err)
			}
		}
	})
}

// FuzzRecordBlock: no record's bytes make decoding panic, and what decodes can be
// written back as it was or is refused.
func FuzzRecordBlock(f *testing.F) {
	for _, v := range []map[string]any{testValue("A"), {"$type": "a.b.c", "x": []any{int64(-1), nil, true, atdata.Bytes{1}, map[string]any{}}}} {
		b, err := atdata.MarshalCBOR(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(cartest.Float(f))
	f.Add([]byte{0x9f, 0xff})
	f.Add([]byte{0xbf, 0x61, 0x61, 0xfb})
	f.Add([]byte{0xa1, 0x61, 0x61, 0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		rec := decodeBlock("cid", b)
		if rec.Value == nil || CheckRecord(rec.Value) != nil {
			return
		}
		if _, err := recordcid.Of(rec.Value); err != nil {
			t.Errorf("%x: %v", b, err)
		}
	})
}

// FuzzAnswer: no answer of a PDS, whatever its status, headers and body, makes a
// read succeed with bad data or a write look as if it had not been sent.
func FuzzAnswer(f *testing.F) {
	f.Add(200, []byte(`{"cid":"`+someCID+`","rev":"3kabcdefghi22"}`), "", "")
	f.Add(400, []byte(`{"error":"InvalidSwap","message":"Record was at x"}`), "", "")
	f.Add(429, []byte(``), "7", "1800000000")
	f.Add(500, []byte(`<html>`), "junk", "-1")
	f.Add(301, []byte(`{`), "", "99999999999999999999")
	f.Fuzz(func(t *testing.T, status int, body []byte, after, reset string) {
		if status < 200 || status > 599 {
			return
		}
		w := httptest.NewRecorder()
		w.Header().Set("Retry-After", after)
		w.Header().Set("RateLimit-Reset", reset)
		w.WriteHeader(status)
		_, _ = w.Write(body)
		h := &http.Client{
			Transport:     roundTrip(func(*http.Request) (*http.Response, error) { return w.Result(), nil }),
			CheckRedirect: NewHTTPClient(true).CheckRedirect,
		}
		c, err := NewClient(Config{PDS: "https://pds.example", DID: testDID, HTTP: h, Auth: staticAuth("x"), Keys: noKeys{}, ReadAttempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		if commit, err := c.LatestCommit(t.Context()); err == nil {
			if _, err := c.checkCommit(commit.CID, commit.Rev); err != nil || status > 299 {
				t.Errorf("commit %+v from HTTP %d", commit, status)
			}
		}
		if res, err := c.PutRecord(t.Context(), testKey, testValue("A"), Swap{}); err == nil && (res.CID == "" || status > 299) {
			t.Errorf("put %+v from HTTP %d", res, status)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
