package events

import (
	"context"
	"testing"
	"time"
)

func TestCatchUp(t *testing.T) {
	h := newFirehose(t, 5, nil)
	main := h.stream.next(t)
	h.want(t, Gap, "")
	a, b := h.acct.commit(6, "a", "A"), h.acct.commit(7, "b", "B")
	done := make(chan error, 1)
	go func() { done <- h.CatchUp(context.Background(), testDID, b.Rev) }()
	second := h.stream.next(t)
	if second.query != "cursor=5" {
		t.Errorf("the second connection asks for %q", second.query)
	}
	h.sendCommit(t, second, a)
	h.sendCommit(t, second, b)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	h.want(t, Commit, a.Rev)
	h.want(t, Commit, b.Rev)
	// The main connection brings them later; and whatever follows, once.
	h.sendCommit(t, main, a)
	h.sendCommit(t, main, b)
	d := h.acct.commit(8, "d", "D")
	h.sendCommit(t, main, d)
	h.want(t, Commit, d.Rev)

	// The main connection may be first.
	e := h.acct.commit(9, "e", "E")
	go func() { done <- h.CatchUp(context.Background(), testDID, e.Rev) }()
	h.stream.next(t)
	h.sendCommit(t, main, e)
	if err := <-done; err != nil {
		t.Error(err)
	}
	h.want(t, Commit, e.Rev)

	// It ends with its context, and is nothing to do when the rev was seen.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := h.CatchUp(ctx, testDID, "3zzzzzzzzzz22"); err == nil {
		t.Error("caught up with what never came")
	}
	if err := h.CatchUp(ctx, testDID, e.Rev); err != nil {
		t.Error(err)
	}
}
