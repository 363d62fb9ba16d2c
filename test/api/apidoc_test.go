package api

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// goTypes are those of every kind, by resource.
var goTypes = map[string]reflect.Type{
	"infras": reflect.TypeFor[v1alpha1.Infra](), "ephemeralinfras": reflect.TypeFor[v1alpha1.EphemeralInfra](),
	"infracollections": reflect.TypeFor[v1alpha1.InfraCollection](), "ephemeralinfracollections": reflect.TypeFor[v1alpha1.EphemeralInfraCollection](),
	"atprotorepos": reflect.TypeFor[v1alpha1.AtprotoRepo](), "computecontracts": reflect.TypeFor[v1alpha1.ComputeContract](),
}

// documented are the fields of our own types below t, by their names in JSON.
func documented(t reflect.Type, into map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[v1alpha1.Infra]().PkgPath() {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "metadata" {
			into[name] = true
		}
		documented(f.Type, into)
	}
}

// TestAPIDocumentNamesEveryField: docs/api.md names every field of every kind as
// code, and every value of every enumeration.
func TestAPIDocumentNamesEveryField(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	fields := map[string]bool{}
	for _, kind := range goTypes {
		documented(kind, fields)
	}
	if len(fields) < 50 {
		t.Fatalf("only %d fields", len(fields))
	}
	for name := range fields {
		named := false
		for _, end := range []string{"`", ".", ":", ","} {
			named = named || strings.Contains(text, "`"+name+end) || strings.Contains(text, "."+name+end) ||
				strings.Contains(text, "…"+name+end) || strings.Contains(text, " "+name+end)
		}
		if !named {
			t.Errorf("docs/api.md doesn't name %s", name)
		}
	}
}

// explained are the paths below path to all fields of structs, for kubectl explain.
// What has been seen already is not descended into again.
func explained(t reflect.Type, path string, seen map[reflect.Type]bool) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[metav1.Time]() || t == reflect.TypeFor[resource.Quantity]() {
		return nil
	}
	out := []string{path}
	if seen[t] {
		return out
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "metadata":
		case name == "" && f.Anonymous:
			out = append(out, explained(f.Type, path, seen)[1:]...)
		case name != "":
			out = append(out, explained(f.Type, path+"."+name, seen)...)
		}
	}
	return out
}

// TestExplainDescribesEveryField: kubectl explains every kind with all its fields,
// and each field, at every depth, in words.
func TestExplainDescribesEveryField(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	seen := map[reflect.Type]bool{}
	for kind, typ := range goTypes {
		whole := e.kubectl(t, "explain", kind, "--recursive")
		fields := map[string]bool{}
		documented(typ, fields)
		for name := range fields {
			if !strings.Contains(whole, " "+name+"\t") {
				t.Errorf("explain %s --recursive doesn't name %s", kind, name)
			}
		}
		paths := explained(typ, kind, seen)
		if len(paths) < 3 {
			t.Fatalf("only %v", paths)
		}
		for _, path := range paths {
			out := e.kubectl(t, "explain", path)
			if strings.Contains(out, "<no description>") || strings.Contains(out, "<empty>") {
				t.Errorf("explain %s: %s", path, out)
			}
		}
	}
}
