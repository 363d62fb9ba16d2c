package repostore

import (
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/warning"
)

// Whoever declares something and follows a record that declares something else is
// warned that the record's declaration is the object's, at a creation and when a
// private object is bound.
func TestFollowingWarns(t *testing.T) {
	for text, warned := range map[string]bool{"theirs": true, "ignored": false} {
		r := alone(t)
		if _, err := r.update(r.ctx(), "o", "", func(w *widget) error { w.Spec.Text = "ignored"; return unbind(w) }); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"first", "second"} {
			r.repo.foreign(recordKey(key), widgetRecord(text))
		}
		r.mount(AccessReadWrite, func(m *MountedRepo) { m.Default = false })
		for what, f := range map[string]func(*warnings) error{
			"create": func(w *warnings) error {
				_, err := r.create(warning.WithWarningRecorder(r.ctx(), w), following("new", testRepo, recordURIOf("first")))
				return err
			},
			"bind": func(w *warnings) error {
				_, err := r.update(warning.WithWarningRecorder(r.ctx(), w), "o", "", func(w *widget) error {
					w.Spec.Record = widgetBinding{Repo: testRepo, URI: recordURIOf("second")}
					return nil
				})
				return err
			},
		} {
			var heard warnings
			if err := f(&heard); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if got := strings.Contains(strings.Join(heard.all, ""), "its declaration replaced"); got != warned {
				t.Errorf("%s of %q: warnings %q", what, text, heard.all)
			}
		}
	}
}
