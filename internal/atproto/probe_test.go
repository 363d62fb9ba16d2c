package atproto

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
)

func TestProbeSwap(t *testing.T) {
	f := newFakePDS(t)
	c := f.client(t, nil)
	probe := func(want bool, wantErr error) {
		t.Helper()
		got, err := ProbeSwap(t.Context(), c, testKey.Collection)
		if got != want || !errors.Is(err, wantErr) {
			t.Errorf("%v, %v; want %v, %v", got, err, want, wantErr)
		}
	}
	f.say(putMethod, 400, xrpcError("InvalidSwap", "Record was at null"))
	probe(true, nil)
	f.say(putMethod, 401, xrpcError("AuthMissing", ""))
	probe(false, ErrUnauthorized)
	if n := f.count("com.atproto.repo.deleteRecord"); n != 0 {
		t.Errorf("%d deletes where nothing was written", n)
	}
	var rkey, deleted string
	take := func(rkey *string, answer map[string]any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var in putRecordInput
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				t.Error(err)
			}
			*rkey = in.RKey
			reply(w, 200, answer)
		}
	}
	f.on(putMethod, take(&rkey, map[string]any{"cid": someCID}))
	f.on("com.atproto.repo.deleteRecord", take(&deleted, map[string]any{}))
	probe(false, nil)
	if rkey == "" || rkey != deleted {
		t.Errorf("put %q, deleted %q", rkey, deleted)
	}
	f.say("com.atproto.repo.deleteRecord", 500, nil)
	probe(false, ErrUnknownOutcome)
}
