package cases

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testkubectl"
)

// testLink is a link to a test in docs/cases.md: [TestName/case](../path).
var testLink = regexp.MustCompile(`\[(Test\w+)(?:/([\w -]+))?\]\(\.\./([\w./-]+)\)`)

// Every case of docs/cases.md names its tests, and they are where it says.
func TestEveryCaseHasItsTests(t *testing.T) {
	root, err := testkubectl.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(root, "docs", "cases.md"))
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for line := range strings.Lines(string(doc)) {
		if !strings.HasPrefix(line, "| C") {
			continue
		}
		cases++
		if strings.Count(line, " | ") != 3 {
			t.Errorf("not four columns: %s", line)
		}
		links := testLink.FindAllStringSubmatch(line, -1)
		if len(links) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, l := range links {
			name, sub, file := l[1], l[2], filepath.Join(root, filepath.FromSlash(l[3]))
			source, err := os.ReadFile(file)
			switch {
			case err != nil:
				t.Error(err)
			case !strings.Contains(string(source), "\nfunc "+name+"(t *testing.T)"):
				t.Errorf("%s has no %s", l[3], name)
			case sub != "" && !strings.Contains(string(source), `{"`+sub+`",`):
				t.Errorf("%s has no case %q of %s", l[3], sub, name)
			}
		}
	}
	if cases < 35 {
		t.Errorf("%d cases", cases)
	}
}
