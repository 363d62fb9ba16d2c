package atproto

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

const someCID = "bafyreidfayvfuwqa7qlnopdjiqrxzs6blmoeu4rujcjtnci5beludirz2a"

// The three conditions of a write are three different bodies.
func TestSwapInTheBody(t *testing.T) {
	f := newFakePDS(t)
	var body map[string]json.RawMessage
	for _, m := range []string{putMethod, "com.atproto.repo.deleteRecord"} {
		f.on(m, func(w http.ResponseWriter, r *http.Request) {
			body = nil
			b, err := io.ReadAll(r.Body)
			if err == nil {
				err = json.Unmarshal(b, &body)
			}
			if err != nil {
				t.Error(err)
			}
			if r.ContentLength != int64(len(b)) {
				t.Errorf("Content-Length %d of %d bytes", r.ContentLength, len(b))
			}
			reply(w, 200, map[string]any{"uri": "at://x", "cid": someCID})
		})
	}
	c := f.client(t, nil)
	for _, tc := range []struct {
		swap Swap
		want string
	}{
		{Swap{}, "null"},
		{Swap{Any: true}, ""},
		{Swap{Any: true, CID: someCID}, ""},
		{Swap{CID: someCID}, `"` + someCID + `"`},
	} {
		res, err := c.PutRecord(t.Context(), testKey, testValue("A"), tc.swap)
		if err != nil || res.Commit != nil || res.CID != someCID {
			t.Errorf("%+v: %+v, %v", tc.swap, res, err)
		}
		if got := string(body["swapRecord"]); got != tc.want {
			t.Errorf("put %+v sends swapRecord %q, want %q", tc.swap, got, tc.want)
		}
		if tc.swap == (Swap{}) {
			continue
		}
		if commit, err := c.DeleteRecord(t.Context(), testKey, tc.swap); err != nil || commit != nil {
			t.Errorf("%+v: %+v, %v", tc.swap, commit, err)
		}
		if got := string(body["swapRecord"]); got != tc.want {
			t.Errorf("delete %+v sends swapRecord %q, want %q", tc.swap, got, tc.want)
		}
	}
}

// Scripts in a record don't grow on their way.
func TestBodyIsNotEscapedForHTML(t *testing.T) {
	f := newFakePDS(t)
	var body string
	f.on(putMethod, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body = string(b)
		reply(w, 200, map[string]any{"uri": "at://x", "cid": someCID})
	})
	const script = "a && b <c >d"
	if _, err := f.client(t, nil).PutRecord(t.Context(), testKey, testValue(script), Swap{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(body, `"`+script+`"`) || strings.HasSuffix(body, "\n") {
		t.Errorf("%s", body)
	}
}

// What a PDS would refuse, store otherwise, or fail on is not sent.
func TestBadWritesAreNotSent(t *testing.T) {
	f := newFakePDS(t)
	c := f.client(t, nil)
	deep := map[string]any{}
	for range 40 {
		deep = map[string]any{"d": deep}
	}
	for name, v := range map[string]map[string]any{
		"no type":       {"description": "A"},
		"empty type":    {"$type": ""},
		"type no text":  {"$type": int64(1)},
		"float":         {"$type": "a.b.c", "x": 1.5},
		"large integer": {"$type": "a.b.c", "x": []any{int64(1) << 53}},
		"small integer": {"$type": "a.b.c", "x": -(int64(1) << 53)},
		"no UTF-8":      {"$type": "a.b.c", "x": "\xff"},
		"key no UTF-8":  {"$type": "a.b.c", "\xff": ""},
		"raw link":      {"$type": "a.b.c", "x": map[string]any{"$link": someCID}},
		"raw bytes":     {"$type": "a.b.c", "x": map[string]any{"$bytes": "AA"}},
		"deep":          {"$type": "a.b.c", "x": deep},
		"other Go type": {"$type": "a.b.c", "x": []string{"a"}},
	} {
		if _, err := c.PutRecord(t.Context(), testKey, v, Swap{}); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, k := range []Key{{}, {"nonsid", "a"}, {testKey.Collection, ""}, {testKey.Collection, "."}, {testKey.Collection, "a/b"}, {testKey.Collection, "a b"}} {
		if _, err := c.PutRecord(t.Context(), k, testValue("A"), Swap{}); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("put %v: %v", k, err)
		}
		if _, err := c.DeleteRecord(t.Context(), k, Swap{Any: true}); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("delete %v: %v", k, err)
		}
		if _, err := c.GetRecord(t.Context(), k); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("get %v: %v", k, err)
		}
	}
	if _, err := c.PutRecord(t.Context(), testKey, testValue("A"), Swap{CID: "junk"}); !errors.Is(err, ErrInvalidSwap) {
		t.Errorf("junk swap: %v", err)
	}
	if _, err := c.DeleteRecord(t.Context(), testKey, Swap{}); !errors.Is(err, ErrInvalidSwap) {
		t.Errorf("delete where none exists: %v", err)
	}
	if n := f.count(putMethod) + f.count("com.atproto.repo.deleteRecord"); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// An answer that says "written" but not what leaves the outcome unknown.
func TestBadWriteAnswerIsUnknownOutcome(t *testing.T) {
	f := newFakePDS(t)
	c := f.client(t, nil)
	for name, answer := range map[string]map[string]any{
		"no cid":      {"uri": "at://x"},
		"junk cid":    {"cid": "junk"},
		"junk rev":    {"cid": someCID, "commit": map[string]any{"cid": someCID, "rev": "7"}},
		"junk commit": {"cid": someCID, "commit": map[string]any{"cid": "", "rev": "3kabcdefghi22"}},
	} {
		f.say(putMethod, 200, answer)
		if err := put(c); !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWriteToAnInactiveRepo(t *testing.T) {
	f := newFakePDS(t)
	c := f.client(t, nil)
	f.say(putMethod, 400, xrpcError("InvalidRequest", "Could not find repo: "+testDID))
	for name, want := range map[string]error{"RepoDeactivated": ErrRepoInactive, "RepoTakendown": ErrRepoInactive, "RepoNotFound": ErrRepoNotFound} {
		f.say(latestMethod, 400, xrpcError(name, ""))
		if err := put(c); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.say(latestMethod, 200, map[string]any{"cid": someCID, "rev": "3kabcdefghi22"})
	if err := put(c); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("an active repository that could not be found: %v", err)
	}
}
