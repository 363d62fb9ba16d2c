package repostore

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	storagetesting "k8s.io/apiserver/pkg/storage/testing"
)

// suiteDoc lists the cases; updateSuiteDoc in the environment writes it.
const (
	suiteDoc       = "../../docs/storage-suite.md"
	updateSuiteDoc = "UPDATE_STORAGE_SUITE_DOC"
)

// TestStorageSuiteIsCovered fails when upstream has a function that no case of
// ours runs, or the other way round.
func TestStorageSuiteIsCovered(t *testing.T) {
	upstream, ours := suiteFunctions(t), map[string]bool{}
	var halves [2]map[string]bool
	for i := range halves {
		halves[i] = map[string]bool{}
	}
	for _, c := range suiteCases() {
		ours[c.function] = true
		halves[0][c.function] = halves[0][c.function] || c.notRaw == ""
		halves[1][c.function] = halves[1][c.function] || c.notCached == ""
		if c.run == nil && (c.notRaw == "" || c.notCached == "") {
			t.Errorf("%s: neither run nor a reason", c.name())
		}
	}
	want, got := slices.Sorted(maps.Keys(upstream)), slices.Sorted(maps.Keys(ours))
	if !slices.Equal(want, got) {
		t.Errorf("upstream has %v\nours are %v", want, got)
	}
	for name := range upstream {
		if !halves[0][name] && !halves[1][name] && !strings.HasSuffix(name, "WithTTL") {
			t.Errorf("%s runs in neither half", name)
		}
	}
}

// TestStorageSuiteDoc keeps the document what the cases are.
func TestStorageSuiteDoc(t *testing.T) {
	want := suiteDocument(suiteFunctions(t))
	if os.Getenv(updateSuiteDoc) != "" {
		if err := os.WriteFile(suiteDoc, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(suiteDoc)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not up to date: run this test with %s=1", suiteDoc, updateSuiteDoc)
	}
}

// suiteFunctions reads the names of the suite's test functions, with their files,
// from its source: those that begin with Run and take a *testing.T or testing.TB.
func suiteFunctions(t *testing.T) map[string]string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(storagetesting.RunTestCreate).Pointer()).FileLine(0)
	if !filepath.IsAbs(file) { // built with -trimpath
		modules := os.Getenv("GOMODCACHE")
		if modules == "" {
			modules = filepath.Join(build.Default.GOPATH, "pkg", "mod")
		}
		file = filepath.Join(modules, file)
	}
	sources, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no source of the suite beside %s (%v)", file, err)
	}
	names := map[string]string{}
	for _, source := range sources {
		parsed, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Run") && takesT(f) {
				names[f.Name.Name] = filepath.Base(source)
			}
		}
	}
	return names
}

func takesT(f *ast.FuncDecl) bool {
	for _, p := range f.Type.Params.List {
		typ := p.Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		if sel, ok := typ.(*ast.SelectorExpr); ok && (sel.Sel.Name == "T" || sel.Sel.Name == "TB") {
			return true
		}
	}
	return false
}

func suiteDocument(functions map[string]string) []byte {
	perFile := map[string]int{}
	for _, file := range functions {
		perFile[file]++
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `# The upstream storage suite

Kubernetes tests its own storage with the functions of
%[1]sk8s.io/apiserver/pkg/storage/testing%[1]s: %[2]d of %[1]sstore_tests.go%[1]s and %[3]d of
%[1]swatcher_tests.go%[1]s. They run against %[1]sinternal/repostore%[1]s, over a real etcd and a
real PDS, all but those that a reason below excludes (the three benchmarks of the
package are no tests): *raw*, against the %[1]sStore%[1]s itself, and *cached*, behind the
Cacher and its delegator as the server wires them, with the Cacher's consistency
check on. The objects are example Pods whose spec is a record: a namespace is a
workspace with an account of its own, and every call is made in its workspace, so
that barriers run.

What a case gives some seconds of the real clock, for a bookmark, a read that the
Cacher has to catch up for, or an account that has to be made, is waited for on a busy
machine: %[1]ssuite_clock_test.go%[1]s and %[1]ssuite_unhurried_test.go%[1]s say how. What it asserts stays.

Run them with %[1]sgo test ./internal/repostore -run TestStorageSuite%[1]s. A function that
upstream adds fails %[1]sTestStorageSuiteIsCovered%[1]s until it is covered. This file is
written by %[1]s%[4]s=1 go test ./internal/repostore -run TestStorageSuiteDoc%[1]s.

| case | raw | cached | reason |
|---|---|---|---|
`, "`", perFile["store_tests.go"], perFile["watcher_tests.go"], updateSuiteDoc)
	for _, c := range suiteCases() {
		raw, cached := "runs", "runs"
		var reasons []string
		if c.notRaw != "" {
			raw, reasons = "–", append(reasons, c.notRaw)
		}
		if c.notCached != "" {
			cached = "–"
			if c.notCached != c.notRaw {
				reasons = append(reasons, c.notCached)
			}
		}
		if c.note != "" {
			reasons = append(reasons, c.note)
		}
		name := "`" + c.function + "`"
		if c.variant != "" {
			name += ", " + c.variant
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, raw, cached, strings.Join(reasons, "; "))
	}
	return b.Bytes()
}
