package devpds

import "testing"

func TestPutSwaps(t *testing.T) {
	_, c := memory(t, Config{})
	first := c.put("a", object{"x": 1}, "swapRecord", nil).want(t, 200, "")
	if first.body["commit"] == nil || first.text("validationStatus") != "unknown" {
		t.Fatalf("put: %s", first.raw)
	}
	other := "bafyreicrdk6urct4tswl7m2t5wtnftc3cejyoyvgtyjxbfpo2wcxuu4kr4"
	for name, swap := range map[string]any{"right": first.text("cid"), "stale": other, "null": nil} {
		again := c.put("a", object{"x": 1}, "swapRecord", swap).want(t, 200, "")
		if again.body["commit"] != nil {
			t.Errorf("the same content with %s swap made a commit", name)
		}
	}
	for _, swap := range []any{other, nil} {
		r := c.put("a", object{"x": 2}, "swapRecord", swap).want(t, 400, "InvalidSwap")
		if want := "Record was at " + first.text("cid"); r.text("message") != want {
			t.Errorf("message %q, want %q", r.text("message"), want)
		}
	}
	r := c.put("b", object{}, "swapRecord", other).want(t, 400, "InvalidSwap")
	if r.text("message") != "Record was at null" {
		t.Errorf("message %q", r.text("message"))
	}
	c.put("a", object{"x": 2}, "swapRecord", first.text("cid")).want(t, 200, "")
	c.remove("a", "swapRecord", first.text("cid")).want(t, 400, "InvalidSwap")
	c.remove("a").want(t, 200, "")
	if r := c.remove("a").want(t, 200, ""); r.body["commit"] != nil {
		t.Errorf("delete of nothing: %s", r.raw)
	}
	c.read("a").want(t, 400, "RecordNotFound")
}
