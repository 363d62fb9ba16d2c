package repos

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// scribe is a hub that notes what it is told of repositories.
type scribe struct {
	Hub
	notes []string
}

func (s *scribe) SetRepo(r repostore.MountedRepo)                         { s.notes = append(s.notes, "set "+r.Name) }
func (s *scribe) RemoveRepo(_, name string)                               { s.notes = append(s.notes, "remove "+name) }
func (s *scribe) ExpectDefault(_, _ string, _ bool)                       {}
func (s *scribe) SetMountsLoaded()                                        { s.notes = append(s.notes, "loaded") }
func (s *scribe) RepoState(_, _ string) (st repostore.RepoState, ok bool) { return st, false }
func (s *scribe) ExpectRepo(r repostore.ExpectedRepo) {
	s.notes = append(s.notes, strings.Join([]string{"expect", r.Name, r.DID, map[bool]string{true: "served ", false: ""}[r.Served] + r.Reason}, " "))
}

// What can't be mounted holds its place before the server takes the mounts for
// loaded, says why, and gives the place up when it is mounted or gone.
func TestPlacesOfReposThatCantBeMounted(t *testing.T) {
	const did = "did:plc:alicealicealicealicealic"
	boom := errors.New("no such source")
	for name, c := range map[string]struct {
		change func(*v1alpha1.AtprotoRepo)
		ids    *plc
		source error
		want   string // "": nothing is held
	}{
		"no event source": {
			change: func(o *v1alpha1.AtprotoRepo) { o.Status.DID, o.Status.PDS = did, "https://pds.example" },
			ids:    &plc{pds: map[string]string{did: "https://pds.example"}}, source: boom, want: boom.Error(),
		},
		"the directory is away": {ids: &plc{away: atproto.ErrUnavailable}, want: atproto.ErrUnavailable.Error()},
		"served before": {
			change: func(o *v1alpha1.AtprotoRepo) { o.Spec.Default, o.Status.IngestedRev = true, "3kxyz" },
			ids:    &plc{}, want: "served ",
		},
		"a handle that was never resolved": {
			change: func(o *v1alpha1.AtprotoRepo) { o.Spec.DID, o.Spec.Handle = "", "typo.test" },
			ids:    &plc{away: atproto.ErrUnavailable},
		},
		"no access": {
			change: func(o *v1alpha1.AtprotoRepo) { o.Spec.Access = v1alpha1.AccessNone },
			ids:    &plc{away: atproto.ErrUnavailable},
		},
	} {
		t.Run(name, func(t *testing.T) {
			hub := &scribe{}
			m := New(Config{
				Hub: hub, Identities: c.ids, Leading: func() bool { return false }, Budgets: atproto.NewBudgets(atproto.BudgetOptions{}),
			})
			defer m.shutDown()
			if c.source != nil {
				m.sources = newSources(func(SourceKey) (events.Source, error) { return nil, c.source })
			}
			m.sources.start(t.Context())
			obj := named("ws", "a")
			obj.Spec.DID, obj.Spec.Access = did, v1alpha1.AccessRead
			if c.change != nil {
				c.change(obj)
			}
			if err := m.mirror.Replace([]any{obj}, "1"); err != nil {
				t.Fatal(err)
			}
			k := key{"ws", "a"}
			_, err := m.reconcile(t.Context(), k)
			first := slices.IndexFunc(hub.notes, func(s string) bool { return strings.HasPrefix(s, "expect a "+did) })
			if c.want == "" {
				if first >= 0 {
					t.Errorf("%q", hub.notes)
				}
				return
			}
			if err == nil || first < 0 || first > slices.Index(hub.notes, "loaded") {
				t.Errorf("%v, %q", err, hub.notes)
			}
			if last := hub.notes[len(hub.notes)-1]; !strings.Contains(last, c.want) {
				t.Errorf("%q, want %q in it", last, c.want)
			}
			hub.notes = nil
			c.ids.away, c.ids.pds = nil, map[string]string{did: "https://pds.example"}
			m.sources = newSources(nil)
			if _, err := m.reconcile(t.Context(), k); err != nil || hub.notes[len(hub.notes)-1] != "set a" {
				t.Errorf("once it can be: %v, %q", err, hub.notes)
			}
			hub.notes = nil
			if err := m.mirror.Delete(obj); err != nil {
				t.Fatal(err)
			}
			if _, err := m.reconcile(t.Context(), k); err != nil || !slices.Equal(hub.notes, []string{"remove a"}) {
				t.Errorf("once it is gone: %v, %q", err, hub.notes)
			}
		})
	}
}
