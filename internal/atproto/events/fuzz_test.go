package events

import (
	"context"
	"testing"

	"github.com/bluesky-social/indigo/atproto/atcrypto"
)

// FuzzFrame: no frame makes the firehose panic, and no commit passes that the
// account's key did not sign.
func FuzzFrame(f *testing.F) {
	a := newAccount(f)
	f.Add(frame(f, "#commit", a.commit(1, "a", "A")))
	f.Add(frame(f, "#commit", a.commit(2, "a", "")))
	f.Add(errorFrame(f, "FutureCursor"))
	f.Add([]byte("garbage"))
	f.Add([]byte{})
	stranger, err := atcrypto.GeneratePrivateKeyK256()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fh, err := NewFirehose(FirehoseOptions{Stream: Stream{URL: "https://pds.example"}, Keys: &account{key: stranger}})
		if err != nil {
			t.Fatal(err)
		}
		fh.Subscribe(testDID, func(e Event) {
			if e.Kind == Commit {
				t.Errorf("%+v", e)
			}
		})
		_ = fh.receive(context.Background(), b) // error frames end the stream
	})
}
