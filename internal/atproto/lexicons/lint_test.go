package lexicons

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/bluesky-social/indigo/atproto/lexicon"
	"github.com/bluesky-social/indigo/lex/lexlint"

	schemas "socialweb.computer/infra-apiserver/lexicons"
)

// schemaFiles parses every embedded lexicon, by its path.
func schemaFiles(t *testing.T) map[string]*lexicon.SchemaFile {
	t.Helper()
	files := map[string]*lexicon.SchemaFile{}
	err := fs.WalkDir(schemas.FS, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(schemas.FS, path)
		if err != nil {
			return err
		}
		var sf lexicon.SchemaFile
		if err := json.Unmarshal(raw, &sf); err != nil {
			return err
		}
		if err := sf.FinishParse(); err != nil {
			return err
		}
		files[path] = &sf
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestLexiconsLintClean(t *testing.T) {
	files := schemaFiles(t)
	if len(files) != 2 {
		t.Fatalf("%d lexicons are embedded, want 2", len(files))
	}
	for path, sf := range files {
		if want := strings.ReplaceAll(sf.ID, ".", "/") + ".json"; path != want {
			t.Errorf("lexicon %s is at %s, want %s", sf.ID, path, want)
		}
		if !Known(sf.ID) {
			t.Errorf("lexicon %s is embedded but not known", sf.ID)
		}
		if err := sf.CheckSchema(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, issue := range lexlint.LintSchemaFile(sf) {
			t.Errorf("%s: %s %s: %s", path, issue.LintLevel, issue.LintName, issue.Message)
		}
	}
}

// TestEnumsAreOpen keeps the rule that every enumeration is knownValues, so that
// a newer client's value doesn't make a record unreadable to indigo.
func TestEnumsAreOpen(t *testing.T) {
	for path := range schemaFiles(t) {
		raw, err := fs.ReadFile(schemas.FS, path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), `"enum"`) {
			t.Errorf("%s has a closed enum", path)
		}
		if !strings.Contains(string(raw), `"knownValues"`) {
			t.Errorf("%s has no knownValues", path)
		}
	}
}

func TestEveryReferenceResolves(t *testing.T) {
	cat, err := catalog()
	if err != nil {
		t.Fatal(err)
	}
	refs := 0
	var descend func(base string, def any)
	descend = func(base string, def any) {
		switch s := def.(type) {
		case lexicon.SchemaRecord:
			descend(base, s.Record)
		case lexicon.SchemaObject:
			for _, p := range s.Properties {
				descend(base, p.Inner)
			}
		case lexicon.SchemaArray:
			descend(base, s.Items.Inner)
		case lexicon.SchemaRef:
			refs++
			ref := s.Ref
			if strings.HasPrefix(ref, "#") {
				ref = base + ref
			}
			if _, err := cat.Resolve(ref); err != nil {
				t.Errorf("%s: %v", base, err)
			}
		}
	}
	for _, sf := range schemaFiles(t) {
		for _, def := range sf.Defs {
			descend(sf.ID, def.Inner)
		}
	}
	if refs != 6 {
		t.Errorf("%d references were followed, want 6", refs)
	}
}
