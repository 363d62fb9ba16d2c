package atproto

import (
	"net/http"
	"strconv"
	"sync"
)

// Budgets is the registry of a process: one Budget for each PDS host.
type Budgets struct {
	options BudgetOptions

	mu    sync.Mutex // guards hosts
	hosts map[string]*Budget
}

// NewBudgets makes a registry whose budgets all have these options.
func NewBudgets(o BudgetOptions) *Budgets {
	return &Budgets{options: o, hosts: map[string]*Budget{}}
}

// For is the budget of a PDS, the same for every spelling of its URL.
func (b *Budgets) For(pds string) *Budget {
	host, err := NormalizeHost(pds)
	if err != nil {
		host = pds // a client of it can't be made; it gets a budget all the same
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hosts[host] == nil {
		b.hosts[host] = NewBudget(host, b.options)
	}
	return b.hosts[host]
}

// rateLimitOf reads RateLimit-Limit and RateLimit-Remaining.
func rateLimitOf(h http.Header) (limit, left int, ok bool) {
	limit, err1 := strconv.Atoi(h.Get("RateLimit-Limit"))
	left, err2 := strconv.Atoi(h.Get("RateLimit-Remaining"))
	return limit, left, err1 == nil && err2 == nil && limit > 0
}
