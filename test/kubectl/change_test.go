package kubectl

import (
	"errors"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testkubectl"
)

func isSwap(err error) bool { return errors.Is(err, atproto.ErrInvalidSwap) }

// testDryRun: nothing is written, nothing is seen, and the answers are as if it
// had been.
func testDryRun(t *testing.T, e env) {
	e.create(t, "dry")
	e.settle(t, "dry")
	rev, rv := e.rev(t), e.field(t, "dry", ".metadata.resourceVersion")
	lines := e.k.Follow(t, "get", "infras", "-w", "--output-watch-events", "-o", "custom-columns=TYPE:.type,NAME:.object.metadata.name")
	testkubectl.Expect(t, lines, "ADDED", "dry")

	fresh := strings.Replace(manifest("dry-new", "x"), `,"state":"Staged"`, "", 1)
	out := e.k.RunIn(t, fresh, "create", "--dry-run=server", "-f", "-", "-o", "jsonpath={.spec.contracts[0].state}")
	if out != "Staged" {
		t.Errorf("a dry create doesn't show the defaults: %q", out)
	}
	out = e.k.Run(t, "patch", "infra", "dry", "--dry-run=server", "--type=merge", "-p", `{"spec":{"description":"dry"}}`, "-o", "jsonpath={.spec.description}")
	if out != "dry" {
		t.Errorf("a dry patch answers %q", out)
	}
	e.k.RunIn(t, manifest("dry", "applied"), "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-")
	e.k.RunIn(t, manifest("dry-apply", "applied"), "apply", "--server-side", "--dry-run=server", "-f", "-")
	e.k.Run(t, "label", "infra", "dry", "--dry-run=server", "a=b")
	e.k.Run(t, "delete", "infra", "dry", "--dry-run=server")

	if got := e.rev(t); got != rev {
		t.Errorf("dry runs made a commit: %s, %s", rev, got)
	}
	if got := e.field(t, "dry", ".metadata.resourceVersion"); got != rv {
		t.Errorf("dry runs moved resourceVersion: %s, %s", rv, got)
	}
	e.k.Fails(t, "", "get", "infra", "dry-new")
	// An event of a dry run would come before this one.
	e.k.Run(t, "label", "infra", "dry", "real=true")
	select {
	case line := <-lines:
		if !strings.Contains(line, "MODIFIED") || !strings.Contains(line, "dry") {
			t.Errorf("event after dry runs: %s", line)
		}
	case <-t.Context().Done():
	}
}

func testStatus(t *testing.T, e env) {
	e.create(t, "status")
	e.k.Run(t, "patch", "infra", "status", "--type=merge", "-p", `{"status":{"phase":"Deployed"}}`)
	if got := e.field(t, "status", ".status.phase"); got != "" {
		t.Errorf("the main resource took the phase %q", got)
	}
	uri := e.field(t, "status", ".status.record.uri")
	e.k.Run(t, "patch", "infra", "status", "--subresource=status", "--type=merge", "-p",
		`{"metadata":{"labels":{"a":"b"}},"spec":{"description":"by status"},"status":{"phase":"Staged","record":{"uri":"at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/computer.socialweb.infra/x"}}}`)
	for path, want := range map[string]string{
		".spec.description": "of status", ".metadata.labels": "", ".status.phase": "Staged", ".status.record.uri": uri,
	} {
		if got := e.field(t, "status", path); got != want {
			t.Errorf("%s after a write of the status: %q, want %q", path, got, want)
		}
	}
	if got := e.k.Run(t, "get", "infra", "status", "--subresource=status", "-o", "jsonpath={.status.phase}"); got != "Staged" {
		t.Errorf("get of the subresource: phase %q", got)
	}
}

func testDelete(t *testing.T, e env) {
	e.create(t, "delete-1")
	e.create(t, "delete-2")
	e.create(t, "delete-3")
	e.k.Run(t, "label", "infras", "--all", "gone=soon")
	if out := e.k.Run(t, "delete", "infra", "delete-1"); !strings.Contains(out, "deleted") {
		t.Errorf("delete: %s", out)
	}
	if r := e.record(t, "delete-1"); r != nil {
		t.Errorf("the record is there: %v", r)
	}
	if err := e.k.Fails(t, "", "delete", "infra", "delete-1"); !strings.Contains(err, "NotFound") {
		t.Errorf("deleting it again: %s", err)
	}
	e.k.Run(t, "delete", "infras", "-l", "gone=soon")
	if out := e.k.Run(t, "get", "infras", "-o", "name"); out != "" {
		t.Errorf("left: %s", out)
	}
	for _, name := range []string{"delete-2", "delete-3"} {
		if r := e.record(t, name); r != nil {
			t.Errorf("the record of %s is there: %v", name, r)
		}
	}
}
