package atproto

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// TestBudgetsOfHostsThatNobodyUses: a tenant who names one PDS after the other leaves
// nothing behind, and a budget that is in use stays the only one of its host.
func TestBudgetsOfHostsThatNobodyUses(t *testing.T) {
	t.Parallel()
	b := NewBudgets(BudgetOptions{})
	used := b.For("https://pds.example.com")
	for i := range 1000 {
		b.For(fmt.Sprintf("https://pds-%d.example.com", i))
	}
	left := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.hosts)
	}
	for end := time.Now().Add(time.Minute); left() > 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d hosts are kept", left())
		}
		runtime.GC()
	}
	if b.For("https://PDS.example.com/") != used {
		t.Error("the host that is in use has two budgets")
	}
	runtime.KeepAlive(used)
}
