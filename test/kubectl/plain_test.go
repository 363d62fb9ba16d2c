package kubectl

import (
	"strings"
	"testing"
)

// testPlainKinds: the kinds that have no record, by their short names; an admin's Follow
// counts as one who may execute.
func testPlainKinds(t *testing.T, e env) {
	for _, c := range []struct{ kind, short, spec, head, row string }{
		{"ComputeContract", "cc", `{"image":"debian-13","resources":{"cpu":"2"}}`, "NAME PHASE WINNER RELEASE AGE ENDPOINT RECEIPT IMAGE", "plain Pending <none> false"},
		{"InfraCollection", "infcol", `{"repoRef":{"name":"none"},"execution":"Follow"}`, "NAME REPO ITEMS READY EXECUTION AGE", "plain none 0"},
		{"EphemeralInfraCollection", "einfcol", `{"repoRef":{"name":"none"},"execution":"Follow"}`, "NAME REPO ITEMS READY EXECUTION AGE", "plain none 0"},
	} {
		e.k.RunIn(t, `{"apiVersion":"socialweb.computer/v1alpha1","kind":"`+c.kind+`","metadata":{"name":"plain"},"spec":`+c.spec+`}`, "apply", "-f", "-")
		lines := strings.Split(strings.TrimSpace(e.k.Run(t, "get", c.short, "plain", "-o", "wide")), "\n")
		if head, row := strings.Join(strings.Fields(lines[0]), " "), strings.Join(strings.Fields(lines[1]), " "); head != c.head || !strings.HasPrefix(row, c.row) {
			t.Errorf("%s: %q %q", c.short, head, row)
		}
		if c.kind != "ComputeContract" {
			if granted := e.k.Run(t, "get", c.short, "plain", "-o", "jsonpath={.status.executeGranted}"); granted != "true" {
				t.Errorf("%s of an admin: granted %q", c.short, granted)
			}
		}
		e.k.Run(t, "delete", c.short, "plain", "--wait=false")
		// Whoever holds the finalizer may have let go already.
		e.k.Do(t, "", "patch", c.short, "plain", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	}
}
