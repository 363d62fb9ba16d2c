package events

import (
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	testclock "k8s.io/utils/clock/testing"
)

// TestFloodOfGarbage: a PDS that sends nothing but garbage, as fast as it can, doesn't
// fill the log.
func TestFloodOfGarbage(t *testing.T) {
	t.Parallel()
	logger := ktesting.NewLogger(ktesting.NopTL{}, ktesting.NewConfig(ktesting.BufferLogs(true)))
	logged := logger.GetSink().(ktesting.Underlier).GetBuffer()
	ctx := klog.NewContext(t.Context(), logger)
	c := testclock.NewFakeClock(time.Now())
	f, err := NewFirehose(FirehoseOptions{Stream: Stream{URL: "https://pds.example.com", Clock: c}})
	if err != nil {
		t.Fatal(err)
	}
	j, err := NewJetstream(JetstreamOptions{Stream: Stream{URL: "https://jetstream.example.com", Clock: c}})
	if err != nil {
		t.Fatal(err)
	}
	flood := func(want int) {
		t.Helper()
		before := len(logged.Data())
		for range 100 {
			if err := f.receive(ctx, []byte("garbage")); err != nil {
				t.Fatal(err)
			}
			j.receive(ctx, []byte("garbage"))
		}
		if n := len(logged.Data()) - before; n != want {
			t.Errorf("%d lines, want %d: %.500s", n, want, logged)
		}
	}
	flood(2)
	flood(0)
	c.Step(complaintEvery)
	flood(2)
	if !strings.Contains(logged.String(), "leftOut=199") {
		t.Errorf("it isn't told how many were left out: %s", logged)
	}
}
