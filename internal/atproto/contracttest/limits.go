package contracttest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// limitCases want a PDS with rate limits.
var limitCases = []testCase{
	{"WritePointsAreTold", func(t *testing.T, e *env) {
		c := e.login(t, alice)
		mustPut(t, c, key(t), "A", absent)
		first, ok := c.Budget().WritePoints(c.DID())
		if !ok || first.Limit <= 0 || first.Left >= first.Limit || !first.Reset.After(time.Now()) {
			t.Fatalf("points after a put: %+v, %v", first, ok)
		}
		mustPut(t, c, key(t), "B", atproto.Swap{Any: true})
		if second, ok := c.Budget().WritePoints(c.DID()); !ok || second.Left >= first.Left {
			t.Errorf("points after another put: %+v after %+v", second, first)
		}
	}},
	{"TooManyReadsAreLimitedWithAReset", func(t *testing.T, e *env) {
		c := e.login(t, alice)
		// The limit is 3,000 requests in 5 minutes from one address.
		err := readUntilRefused(t, c, 4000)
		if err == nil {
			t.Fatal("4,000 requests and no limit")
		}
		if after := atproto.RetryAfter(err); after <= 0 || after > 5*time.Minute {
			t.Errorf("retry after %s: %v", after, err)
		}
		if c.Budget().PausedUntil().IsZero() {
			t.Error("the host is not paused")
		}
		_, err = c.PutRecord(t.Context(), key(t), value("B"), absent)
		wantErr(t, err, atproto.ErrRateLimited)
	}},
}

// readUntilRefused reads, several at a time, until the limit says no; it returns
// what the limit said.
func readUntilRefused(t *testing.T, c *atproto.Client, most int) error {
	t.Helper()
	var sent atomic.Int64
	var refused atomic.Pointer[error]
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for refused.Load() == nil && sent.Add(1) <= int64(most) {
				_, err := c.LatestCommit(t.Context())
				if errors.Is(err, atproto.ErrRateLimited) {
					refused.CompareAndSwap(nil, &err)
				} else if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if p := refused.Load(); p != nil {
		return *p
	}
	return nil
}
