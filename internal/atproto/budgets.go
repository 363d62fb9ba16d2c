package atproto

import (
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"weak"
)

// Budgets is the registry of a process: one Budget for each PDS host, as long as anybody
// has it. Tenants name the hosts, and may name ever more of them.
type Budgets struct {
	options BudgetOptions

	mu    sync.Mutex // guards hosts
	hosts map[string]weak.Pointer[Budget]
}

// NewBudgets makes a registry whose budgets all have these options.
func NewBudgets(o BudgetOptions) *Budgets {
	return &Budgets{options: o, hosts: map[string]weak.Pointer[Budget]{}}
}

// For is the budget of a PDS, the same for every spelling of its URL.
func (b *Budgets) For(pds string) *Budget {
	host, err := NormalizeHost(pds)
	if err != nil {
		host = pds // a client of it can't be made; it gets a budget all the same
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	budget := b.hosts[host].Value()
	if budget == nil {
		budget = NewBudget(host, b.options)
		b.hosts[host] = weak.Make(budget)
		runtime.AddCleanup(budget, b.forget, host)
	}
	return budget
}

// forget drops the host of a budget that nobody has any more.
func (b *Budgets) forget(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hosts[host].Value() == nil {
		delete(b.hosts, host)
	}
}

// rateLimitOf reads RateLimit-Limit and RateLimit-Remaining.
func rateLimitOf(h http.Header) (limit, left int, ok bool) {
	limit, err1 := strconv.Atoi(h.Get("RateLimit-Limit"))
	left, err2 := strconv.Atoi(h.Get("RateLimit-Remaining"))
	return limit, left, err1 == nil && err2 == nil && limit > 0
}
