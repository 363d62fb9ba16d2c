//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testkubectl"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// Every verb works by kubectl through the aggregator. TestVerbsOfPlainKinds has the
// other kinds.
func TestVerbsOfEveryKind(t *testing.T) {
	for _, kind := range kinds[:len(kinds)-len(plainKinds)] {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			v := verbsOf{kind, plane.Kubectl(t), harness.Name(t)}
			t.Cleanup(func() { v.k.Do(t, "", "delete", kind.resource, "-l", v.label(), "--ignore-not-found") })
			v.create(t)
			v.read(t)
			v.change(t)
			v.status(t)
			v.delete(t)
		})
	}
}

// verbsOf one kind, on an object of a name.
type verbsOf struct {
	kind
	k    *testkubectl.Kubectl
	name string
}

func (v verbsOf) label() string { return "e2e=" + v.name }

func (v verbsOf) labelled(name string) string {
	return v.manifest(name, fmt.Sprintf(`"labels":{"e2e":%q}`, v.name))
}

func (v verbsOf) get(t *testing.T, path string) string {
	t.Helper()
	return v.k.Run(t, "get", v.short, v.name, "-o", "jsonpath={"+path+"}")
}

func (v verbsOf) create(t *testing.T) {
	v.k.RunIn(t, v.labelled(v.name), "create", "-f", "-")
	if err := v.k.Fails(t, v.labelled(v.name), "create", "-f", "-"); !strings.Contains(err, "AlreadyExists") {
		t.Errorf("creating it again: %s", err)
	}
	v.k.RunIn(t, strings.Replace(v.labelled("x"), `"name":"x"`, `"generateName":"`+v.name+`-"`, 1), "create", "-f", "-")
	v.k.RunIn(t, v.labelled(v.name+"-applied"), "apply", "--server-side", "--field-manager=e2e", "-f", "-")
}

func (v verbsOf) read(t *testing.T) {
	out := v.k.Run(t, "get", v.resource, "-l", v.label(), "-o", "name")
	if got := strings.Fields(out); len(got) != 3 || !strings.HasPrefix(got[0], strings.ToLower(v.kind.name)+".socialweb.computer/"+v.name) {
		t.Errorf("list: %q", out)
	}
	for _, args := range [][]string{
		{"get", v.short, v.name, "-o", "wide"}, {"describe", v.resource, v.name},
		{"get", v.resource + ".v1alpha1.socialweb.computer", v.name}, {"get", "--raw", base + "/" + v.resource + "/" + v.name + "/status"},
	} {
		if out := v.k.Run(t, args...); !strings.Contains(out, v.name) || strings.Contains(out, "<unknown>") {
			t.Errorf("kubectl %v: %s", args, out)
		}
	}
	v.watch(t)
	if err := v.k.Fails(t, "", "get", v.resource, "--field-selector=spec.nope=1"); !strings.Contains(err, "BadRequest") || !strings.Contains(err, "spec.nope") {
		t.Errorf("an unknown field selector: %s", err)
	}
}

// watch: the field selector gives one name alone, also by a watch, whose AGE is right too
// (k/k#49424).
func (v verbsOf) watch(t *testing.T) {
	lines := v.k.Follow(t, "get", v.resource, v.name, "-w", "-L", "seen")
	seen := testkubectl.Expect(t, lines, v.name)
	v.k.Run(t, "label", v.short, v.name+"-applied", "seen=never")
	v.k.Run(t, "label", v.short, v.name, "seen=last")
	seen = append(seen, testkubectl.Expect(t, lines, v.name, "last")...)
	others := func(line string) bool { return !strings.HasPrefix(line, v.name+" ") } // it may change meanwhile: its status is published
	if slices.ContainsFunc(seen[1:], others) || strings.Contains(strings.Join(seen, ""), "<unknown>") {
		t.Errorf("a watch of one name: %q", seen)
	}
}

func (v verbsOf) change(t *testing.T) {
	path := ".spec." + v.field
	for patch, args := range map[string][]string{
		fmt.Sprintf(`{"spec":{%q:%s}}`, v.field, v.other):                                  {"merge", v.other},
		fmt.Sprintf(`[{"op":"replace","path":"/spec/%s","value":%s}]`, v.field, v.another): {"json", v.another},
	} {
		v.k.Run(t, "patch", v.short, v.name, "--type="+args[0], "-p", patch)
		if got := v.get(t, path); `"`+got+`"` != args[1] {
			t.Errorf("after a %s patch: %s", args[0], got)
		}
	}
	old := v.k.Run(t, "get", v.short, v.name, "-o", "json")
	v.k.Run(t, "label", v.short, v.name, "more=yes")
	v.k.Run(t, "annotate", v.short, v.name, "note=here")
	// A PUT of what was read before (kptdev/kpt#3991).
	if err := v.k.Fails(t, old, "replace", "-f", "-"); !strings.Contains(err, "Conflict") {
		t.Errorf("a stale replace: %s", err)
	}
	// Of what was just read; the publisher may still have written between.
	harness.Eventually(t, func(context.Context) error {
		r := v.k.Do(t, v.k.Run(t, "get", v.short, v.name, "-o", "json"), "replace", "-f", "-")
		if r.Code != 0 {
			return fmt.Errorf("a replace: %s", r.Err)
		}
		return nil
	})
	// Another manager's field needs force.
	applied := regexp.MustCompile(fmt.Sprintf(`%q:"[^"]*"`, v.field)).
		ReplaceAllString(v.labelled(v.name+"-applied"), fmt.Sprintf(`%q:%s`, v.field, v.other))
	if err := v.k.Fails(t, applied, "apply", "--server-side", "--field-manager=m2", "-f", "-"); !strings.Contains(err, `"e2e"`) {
		t.Errorf("an apply of another's field: %s", err)
	}
	v.k.RunIn(t, applied, "apply", "--server-side", "--field-manager=m2", "--force-conflicts", "-f", "-")
	// Generation counts changes of the spec alone.
	before := v.get(t, ".metadata.generation")
	v.k.Run(t, "label", v.short, v.name, "more-")
	if after := v.get(t, ".metadata.generation"); after != before {
		t.Errorf("a label moved generation from %s to %s", before, after)
	}
	unknown := strings.Replace(v.manifest(v.name+"-strict"), `"spec":{`, `"spec":{"nope":1,`, 1)
	if err := v.k.Fails(t, unknown, "apply", "--dry-run=server", "--validate=strict", "-f", "-"); !strings.Contains(err, "nope") {
		t.Errorf("an unknown field: %s", err)
	}
}

// status is a resource of its own: neither writes what the other holds.
func (v verbsOf) status(t *testing.T) {
	condition := `{"status":{"conditions":[{"type":"E2E","status":"True","reason":"Test","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	path := `.status.conditions[?(@.type=="E2E")].status`
	v.k.Run(t, "patch", v.short, v.name, "--type=merge", "-p", condition)
	if got := v.get(t, path); got != "" {
		t.Errorf("the main resource took a condition: %s", got)
	}
	spec := v.get(t, ".spec."+v.field)
	both := strings.TrimSuffix(condition, "}") + fmt.Sprintf(`,"metadata":{"labels":{"by":"status"}},"spec":{%q:%s}}`, v.field, v.other)
	v.k.Run(t, "patch", v.short, v.name, "--subresource=status", "--type=merge", "-p", both)
	if got := v.get(t, path); got != "True" {
		t.Errorf("the status has the condition %q", got)
	}
	if got := v.get(t, ".spec."+v.field) + v.get(t, ".metadata.labels.by"); got != spec {
		t.Errorf("a write of the status changed the rest: %s", got)
	}
	v.k.Run(t, "wait", v.short, v.name, "--for=condition=E2E", "--timeout=3m")
}

func (v verbsOf) delete(t *testing.T) {
	v.k.Run(t, "delete", v.short, v.name)
	if err := v.k.Fails(t, "", "get", v.short, v.name); !strings.Contains(err, "NotFound") {
		t.Errorf("after its deletion: %s", err)
	}
	v.k.Run(t, "delete", "--raw", base+"/"+v.resource+"?labelSelector=e2e%3D"+v.name) // deletecollection
	v.k.Run(t, "wait", v.resource, "-l", v.label(), "--for=delete", "--timeout=3m")
}
