package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// What was written is verified; what was changed, is missing or is too much isn't, and is
// as it must be after the next run.
func TestDrift(t *testing.T) {
	dir := t.TempDir()
	if err := run(dir, true); err == nil {
		t.Error("nothing is there, and it is verified")
	}
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	infras, export := filepath.Join(dir, schemasDir, "infras.yaml"), filepath.Join(dir, "apiexport.yaml")
	old := filepath.Join(dir, schemasDir, "gadgets.yaml")
	for name, spoil := range map[string]func() error{
		infras: func() error { return os.WriteFile(infras, []byte("changed"), 0o600) },
		export: func() error { return os.Remove(export) },
		old:    func() error { return os.WriteFile(old, nil, 0o600) },
	} {
		if err := run(dir, true); err != nil {
			t.Error(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if err := run(dir, true); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if err := run(dir, false); err != nil {
			t.Fatal(err)
		}
	}
}

// A name says what is in a schema: another content is another object.
func TestNameFollowsContent(t *testing.T) {
	names := map[string]bool{}
	for _, description := range []string{"a", "b", "a"} {
		d := definitions{"x": common.OpenAPIDefinition{Schema: spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Description: description}}}}
		s, err := apiResourceSchema(d, "Infra", "x")
		if err != nil {
			t.Fatal(err)
		}
		names[s.Name] = true
	}
	if len(names) != 2 {
		t.Errorf("names %v", names)
	}
}

// A schema that can't be carried over is an error, never another schema.
func TestNothingIsLost(t *testing.T) {
	minimum := 1.0
	for name, s := range map[string]spec.SchemaProps{
		"a bound":     {Type: []string{"integer"}, Minimum: &minimum},
		"two types":   {Type: []string{"integer", "string"}},
		"a choice":    {OneOf: []spec.Schema{{}}},
		"no such one": {Ref: spec.MustCreateRef(refPrefix + "nothing")},
		"deep inside": {Type: []string{"array"}, Items: &spec.SchemaOrArray{Schema: &spec.Schema{SchemaProps: spec.SchemaProps{MaxLength: new(int64)}}}},
	} {
		if out, err := (definitions{}).convert(&spec.Schema{SchemaProps: s}); err == nil {
			t.Errorf("%s became %v", name, out)
		}
	}
	if _, err := apiResourceSchema(definitions{}, "Gadget", "x"); err == nil {
		t.Error("a kind without a short name is accepted")
	}
}
