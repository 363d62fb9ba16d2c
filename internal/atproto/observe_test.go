package atproto

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestKindOfErrors: each kind of error has a name of its own, without what a PDS
// said, however it is wrapped.
func TestKindOfErrors(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range kinds {
		err := fmt.Errorf("putRecord: %w: %w", k.err, errors.New("the record said hello"))
		got := Kind(err)
		if got != k.name || seen[got] || strings.Contains(got, " ") {
			t.Errorf("%v is %q", err, got)
		}
		seen[got] = true
	}
	if got := Kind(&RateLimitError{Host: "h"}); got != "RateLimited" {
		t.Errorf("a rate limit is %q", got)
	}
	if got := Kind(&XRPCError{Message: "hello", kind: ErrInvalidSwap}); got != "InvalidSwap" {
		t.Errorf("a swap is %q", got)
	}
	if got := Kind(errors.New("hello")); got != "Error" {
		t.Errorf("any other is %q", got)
	}
	if got := Kind(nil); got != "" {
		t.Errorf("none is %q", got)
	}
}
