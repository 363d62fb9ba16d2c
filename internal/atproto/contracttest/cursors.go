package contracttest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
)

// outdatedCursorCases want a PDS whose back-fill window is next to nothing.
var outdatedCursorCases = []testCase{
	{"OutdatedCursorIsAGap", func(t *testing.T, e *env) {
		c := e.login(t, alice)
		f, _, stop := e.listening(t, c, c.Keys())
		stop()
		mustPut(t, c, key(t), "A", absent)
		time.Sleep(20 * time.Millisecond) // the window is a millisecond
		again, rec, _ := e.firehose(t, c.DID(), c.Keys(), f.Cursor())
		rec.wait(t, "a Gap for the outdated cursor", func(e events.Event) bool {
			return e.Kind == events.Gap && strings.HasPrefix(e.Reason, "OutdatedCursor")
		})
		waitConnected(t, again)
		heard(t, c, rec)
	}},
}

// slowConsumerCases want a PDS that keeps few events for a slow consumer.
var slowConsumerCases = []testCase{
	{"SlowConsumerGetsAGapAndGoesOn", func(t *testing.T, e *env) {
		c := e.login(t, alice)
		f, err := events.NewFirehose(events.FirehoseOptions{
			Stream: events.Stream{
				URL: e.URL, Dialer: atproto.NewDialer(true), MinBackoff: time.Millisecond,
				ReadTimeout: 5 * patience, // for as long as the handler hangs nothing is read
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		rec := newRecorder()
		hold := make(chan struct{})
		release := sync.OnceFunc(func() { close(hold) })
		f.Subscribe(c.DID(), func(ev events.Event) {
			rec.handle(ev)
			if ev.Kind == events.Commit {
				<-hold
			}
		})
		run(t, f)
		t.Cleanup(release) // before run's stop, which waits for the handler
		waitConnected(t, f)
		heard(t, c, rec)
		// The handler hangs in its first commit. Fill the way to it, which is a few
		// megabytes of the kernel's buffers, then the PDS's own.
		big := strings.Repeat("x", 500_000)
		var last atproto.PutResult
		for i := range 60 {
			last, err = c.PutRecord(t.Context(), key(t, "big"), value(fmt.Sprint(i)+big), atproto.Swap{Any: true})
			if err != nil {
				t.Fatal(err)
			}
		}
		release()
		rec.wait(t, "a Gap for the slow consumer", func(e events.Event) bool {
			return e.Kind == events.Gap && strings.HasPrefix(e.Reason, "ConsumerTooSlow")
		})
		// It goes on from its cursor: nothing is lost after all.
		rec.waitRev(t, last.Commit.Rev)
	}},
}
