// Package testwait waits in a test for what must come at some time.
package testwait

import (
	"testing"
	"time"
)

// Patience is how long a test waits for what must come at some time: long, for it is
// waited for only where something is wrong.
const Patience = 2 * time.Minute

// The time between two looks: as long as the last one took, so that they never are most
// of what a server does, and between these.
const (
	shortest = 10 * time.Millisecond
	longest  = 100 * time.Millisecond
)

// Until looks until ok returns nil. The test fails, with what ok said last, where that
// takes longer than Patience.
func Until(t testing.TB, what string, ok func() error) {
	t.Helper()
	if err := until(time.Now().Add(Patience), ok); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// until looks at least once, and for the last time after end.
func until(end time.Time, ok func() error) error {
	for {
		begin := time.Now()
		last := begin.After(end)
		if err := ok(); err == nil || last {
			return err
		}
		time.Sleep(min(max(time.Since(begin), shortest), longest))
	}
}
