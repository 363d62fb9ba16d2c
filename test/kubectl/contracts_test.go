package kubectl

import (
	"strings"
	"testing"
)

// contractsManifest is an Infra whose contracts are given as JSON, in order.
func contractsManifest(contracts ...string) string {
	return `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"contracts"},
"spec":{"contracts":[` + strings.Join(contracts, ",") + `]}}`
}

// recorded are the contracts of the record, in order, as NAME=STATE.
func (e env) recorded(t *testing.T) string {
	t.Helper()
	var out []string
	list, _ := e.record(t, "contracts")["contracts"].([]any)
	for _, c := range list {
		m, _ := c.(map[string]any)
		name, _ := m["name"].(string)
		state, _ := m["state"].(string)
		out = append(out, name+"="+state)
	}
	return strings.Join(out, " ")
}

// testContracts: a client-side apply and a strategic merge patch merge contracts
// and secrets by name, so that defaults make no difference of their own, what
// others declared stays, and the record has the order that was applied.
func testContracts(t *testing.T, e env) {
	t.Cleanup(func() { e.remove(t, "contracts") })
	apply := func(want, record string, contracts ...string) {
		t.Helper()
		if out := e.k.RunIn(t, contractsManifest(contracts...), "apply", "-f", "-"); !strings.Contains(out, want) {
			t.Errorf("apply of %v: %s, want %s", contracts, out, want)
		}
		if got := e.recorded(t); got != record {
			t.Errorf("after apply of %v the record has %q, want %q", contracts, got, record)
		}
	}
	const a, b, c = `{"name":"a"}`, `{"name":"b","state":"Requested","policy":"cheapest"}`, `{"name":"c"}`
	apply("created", "a=staged b=requested", a, b)
	e.settle(t, "contracts")
	rev := e.rev(t)
	apply("unchanged", "a=staged b=requested", a, b)
	if r := e.k.Do(t, contractsManifest(a, b), "diff", "-f", "-"); r.Code != 0 {
		t.Errorf("diff of what is there: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if now := e.rev(t); now != rev {
		t.Errorf("apply of the same made a commit: %s, %s", rev, now)
	}
	apply("configured", "b=requested c=staged a=staged", b, c, a)
	apply("configured", "b=requested a=staged", b, a)

	// By default kubectl sends a strategic merge patch.
	e.k.Run(t, "patch", "infra", "contracts", "-p", `{"spec":{"contracts":[{"name":"a","state":"Requested"}]}}`)
	if got := e.recorded(t); !sameWords(got, "b=requested a=requested") {
		t.Errorf("after a patch of one contract: %q", got)
	}
	if got := e.field(t, "contracts", `.spec.contracts[?(@.name=="b")].policy`); got != "cheapest" {
		t.Errorf("the other contract's policy: %q", got)
	}
	for _, name := range []string{"a", "b"} {
		e.k.Run(t, "patch", "infra", "contracts", "-p", `{"spec":{"secrets":[{"contract":"`+name+`","secretRef":{"name":"of-`+name+`"}}]}}`)
	}
	if got := e.field(t, "contracts", ".spec.secrets[*].secretRef.name"); !sameWords(got, "of-a of-b") {
		t.Errorf("secrets after two patches: %q", got)
	}

	e.k.Run(t, "patch", "infra", "contracts", "-p", `{"spec":{"secrets":[{"contract":"b","$patch":"delete"}]}}`)
	if got := e.field(t, "contracts", ".spec.secrets[*].secretRef.name"); got != "of-a" {
		t.Errorf("secrets after one was deleted: %q", got)
	}

	// What somebody else declared in the record is not the applier's to drop.
	e.change(t, "contracts", func(record map[string]any) {
		list, _ := record["contracts"].([]any)
		record["contracts"] = append(list, map[string]any{"name": "theirs", "state": "staged"})
	})
	e.k.RunIn(t, contractsManifest(b, a), "apply", "-f", "-")
	if got := e.field(t, "contracts", ".spec.contracts[*].name"); !sameWords(got, "a b theirs") {
		t.Errorf("an apply left of a contract that others declared: %q", got)
	}
	// A server-side apply owns the list as a whole.
	e.k.RunIn(t, contractsManifest(a), "apply", "--server-side", "--force-conflicts", "-f", "-")
	if got := e.recorded(t); got != "a=staged" {
		t.Errorf("after a server-side apply: %q", got)
	}
}

// sameWords compares without order.
func sameWords(a, b string) bool {
	count := map[string]int{}
	for _, w := range strings.Fields(a) {
		count[w]++
	}
	for _, w := range strings.Fields(b) {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
