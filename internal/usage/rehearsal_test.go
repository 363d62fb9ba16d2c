package usage

import (
	"errors"
	"testing"
)

// TestRehearsal: a write that isn't going to be made is refused as it would be, and takes
// no room from those that are.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Limits{Objects: 2, Bytes: 100}, nil)
	w.put("/views/infras/one/a", 60)
	w.start()
	ctx := t.Context()
	exceeds := func(what string, err error, limit string) {
		t.Helper()
		var e *ExceededError
		if (limit == "") != (err == nil) || limit != "" && (!errors.As(err, &e) || e.Limit != limit || e.Workspace != "one") {
			t.Errorf("%s: %v, want %q", what, err, limit)
		}
	}
	for range 3 { // none of them takes anything
		exceeds("one that fits", w.MayCreate(ctx, "/infras/one/b", 40), "")
		exceeds("one that is too large", w.MayCreate(ctx, "/infras/one/b", 41), Bytes)
		exceeds("growth that fits", w.MayGrow(ctx, "/infras/one/a", 40), "")
		exceeds("too much growth", w.MayGrow(ctx, "/infras/one/a", 41), Bytes)
		exceeds("one that is there", w.MayCreate(ctx, "/infras/one/a", 1000), "")
		exceeds("the workspace without limits", w.MayCreate(ctx, "/infras/default/a", 1000), "")
		exceeds("an unknown key", w.MayCreate(ctx, "/others/one/a", 1000), "")
	}
	if w.MayCreate(ctx, "/infras/two/a", 10) != nil || w.accounts["two"] != nil {
		t.Error("a workspace of which only was spoken is remembered")
	}
	w.has("one", 1, 60)
	r, err := w.Create(ctx, "/infras/one/b", 10)
	if err != nil {
		t.Fatal(err)
	}
	exceeds("beside one under way", w.MayCreate(ctx, "/infras/one/c", 1), Objects)
	r.Done(0)
	exceeds("after it", w.MayCreate(ctx, "/infras/one/c", 1), "")
}
