package apiserver

import (
	"fmt"

	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// atOnce counts the requests of one sort that are at work.
type atOnce struct {
	what, limit string // in words, and for the metric
	most        int    // of a workspace; 0: any number
	// shared is how many all workspaces may have until each is held to its share: else
	// a few, whose PDSes let them wait, would take all that the server does at once.
	// 0: any number.
	shared int

	of    map[string]int // by workspace; none: no entry
	total int
}

// share lets the workspaces together have half of what the server itself does at once.
// What is left is for those that come once others have more than their share.
func (l *doorLimits) share(reads, writes int) {
	if l != nil {
		l.reads.shared, l.writes.shared = reads/2, writes/2
	}
}

// sortsOf are the sorts that a request is of.
func (l *doorLimits) sortsOf(info *genericapirequest.RequestInfo) []*atOnce {
	switch info.Verb {
	case "watch":
		return []*atOnce{&l.watches}
	case "get", "list":
		return []*atOnce{&l.inflight, &l.reads}
	}
	return []*atOnce{&l.inflight, &l.writes}
}

// enter counts a request until leave. Where one of its sorts is full, it tells which and
// why, and counts nothing.
func (l *doorLimits) enter(ws string, sorts []*atOnce) (why string, full *atOnce) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range sorts {
		if why := a.full(ws); why != "" {
			return why, a
		}
	}
	for _, a := range sorts {
		a.of[ws]++
		a.total++
	}
	return "", nil
}

func (l *doorLimits) leave(ws string, sorts []*atOnce) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range sorts {
		a.total--
		if a.of[ws]--; a.of[ws] == 0 {
			delete(a.of, ws)
		}
	}
}

// full tells why a workspace may have no more; "": it may.
func (a *atOnce) full(ws string) string {
	has, all := a.of[ws], len(a.of)
	if has == 0 {
		all++
	}
	switch {
	case a.most > 0 && has >= a.most:
		return fmt.Sprintf("workspace %s has %d %s, which is as many as it may", ws, has, a.what)
	case a.shared > 0 && a.total >= a.shared && has >= max(1, a.shared/all):
		return fmt.Sprintf("workspace %s has %d %s, which is its share of what the server does at once", ws, has, a.what)
	}
	return ""
}
