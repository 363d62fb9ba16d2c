package kubectl

import (
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testkubectl"
)

func testWatch(t *testing.T, e env) {
	e.create(t, "watch-0")
	lines := e.k.Follow(t, "get", "infras", "-w", "--output-watch-events", "-o", "custom-columns=TYPE:.type,NAME:.object.metadata.name,DESC:.object.spec.description")
	testkubectl.Expect(t, lines, "ADDED", "watch-0")
	e.create(t, "watch-1")
	testkubectl.Expect(t, lines, "ADDED", "watch-1", "of watch-1")
	e.k.Run(t, "patch", "infra", "watch-1", "--type=merge", "-p", `{"spec":{"description":"patched"}}`)
	testkubectl.Expect(t, lines, "MODIFIED", "watch-1", "patched")
	e.edit(t, "watch-1", "elsewhere")
	testkubectl.Expect(t, lines, "MODIFIED", "watch-1", "elsewhere")
	e.k.Run(t, "delete", "infra", "watch-1")
	testkubectl.Expect(t, lines, "DELETED", "watch-1", "elsewhere")
	if _, err := e.Repo.DeleteRecord(t.Context(), atproto.Key{Collection: collection, RKey: "watch-0"}, atproto.Swap{Any: true}); err != nil {
		t.Fatal(err)
	}
	testkubectl.Expect(t, lines, "DELETED", "watch-0", "of watch-0")
}

func testWait(t *testing.T, e env) {
	e.create(t, "wait")
	ready := []string{"wait", "infra/wait", "--for=condition=Ready", "--timeout=5m", "-o", "name"}
	e.k.Fails(t, "", "wait", "infra/wait", "--for=condition=Ready", "--timeout=1s")
	lines := e.k.Follow(t, ready...)
	phase := e.k.Follow(t, "wait", "infra/wait", "--for=jsonpath={.status.phase}=Deployed", "--timeout=5m", "-o", "name")
	e.k.Run(t, "patch", "infra", "wait", "--subresource=status", "--type=merge", "-p",
		`{"status":{"phase":"Deployed","conditions":[{"type":"Ready","status":"True","reason":"Test","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	testkubectl.Expect(t, lines, "wait")
	testkubectl.Expect(t, phase, "wait")
	e.k.Run(t, ready...) // true already
	gone := make(chan testkubectl.Result, 1)
	go func() { gone <- e.k.Do(t, "", "wait", "infra/wait", "--for=delete", "--timeout=5m") }()
	e.k.Run(t, "delete", "infra", "wait", "--wait=false")
	if r := <-gone; r.Code != 0 {
		t.Errorf("wait for the deletion: exit %d, %s", r.Code, r.Err)
	}
}

// testForeignEdits: after a putRecord straight to the PDS returns, the next get
// shows it, 20 times by kubectl itself.
func testForeignEdits(t *testing.T, e env) {
	e.create(t, "foreign")
	for i := range 20 {
		want := "edit " + strings.Repeat("i", i+1)
		e.edit(t, "foreign", want)
		if i%2 == 0 {
			if got := e.field(t, "foreign", ".spec.description"); got != want {
				t.Fatalf("get after edit %d: %q, want %q", i, got, want)
			}
			continue
		}
		if got := e.k.Run(t, "get", "infras", "-o", "jsonpath={.items[?(@.metadata.name=='foreign')].spec.description}"); got != want {
			t.Fatalf("list after edit %d: %q, want %q", i, got, want)
		}
	}
	if got := e.field(t, "foreign", ".metadata.generation"); got != "21" {
		t.Errorf("generation after 20 edits: %s", got)
	}
}

// edit changes the description in the record, past the server.
func (e env) edit(t *testing.T, name, description string) {
	t.Helper()
	e.change(t, name, func(record map[string]any) { record["description"] = description })
}

// change edits a record, past the server.
func (e env) change(t *testing.T, name string, how func(map[string]any)) {
	t.Helper()
	key := atproto.Key{Collection: collection, RKey: name}
	for {
		r, _, err := e.Repo.ProveRecord(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		how(r.Value)
		_, err = e.Repo.PutRecord(t.Context(), key, r.Value, atproto.Swap{CID: r.CID})
		if err == nil {
			return
		}
		if !isSwap(err) { // the server published a status in between
			t.Fatal(err)
		}
	}
}
