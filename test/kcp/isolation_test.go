package kcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// writers of each of two workspaces at once.
const writers = 50

// side is one of two workspaces whose objects have the same names.
type side struct {
	*tenant
	word string // is in everything of this side, and in nothing of the other
	twin *side

	mu    sync.Mutex
	told  int      // answers that were looked at
	leaks []string // what they had of the other side
}

// look looks for what is of the other side.
func (s *side) look(what, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told++
	for _, w := range []string{s.twin.word, s.twin.name, s.twin.account.DID} {
		if strings.Contains(body, w) {
			s.leaks = append(s.leaks, fmt.Sprintf("%s tells %q: %.500s", what, w, body))
		}
	}
}

// ask is do whose answer is looked at.
func (s *side) ask(t testing.TB, r request) answer {
	t.Helper()
	a := s.do(t, r)
	s.look(fmt.Sprintf("%s %s", or(r.method, http.MethodGet), r.path), a.body+encode(t, a.header))
	return a
}

// read is must whose answer is looked at.
func (s *side) read(t testing.TB, path string) string {
	t.Helper()
	a := s.must(t, request{path: path})
	s.look(path, a.body)
	return a.body
}

// sides makes two of them.
func (e *env) sides(t *testing.T, one, two string) [2]*side {
	t.Helper()
	a, b := &side{tenant: e.tenant(t, one), word: "walrus"}, &side{tenant: e.tenant(t, two), word: "zebra"}
	a.twin, b.twin = b, a
	return [2]*side{a, b}
}

// TestIsolation: two workspaces have objects of the same names, with many writers each,
// at once. Nobody in one is told anything of the other: not in the answer of a write, a
// list, a page, a table or an error, nor in a watch.
//
// It has the PDS for itself: with others beside it, a put would take too long on a slow
// machine.
func TestIsolation(t *testing.T) {
	e := start(t)
	both := e.sides(t, "tenants-one", "tenants-two")
	var watches [2]*watching
	for i, s := range both {
		watches[i] = s.watch(t, infras+"?watch=1&allowWatchBookmarks=true&resourceVersion=0")
	}
	var g errgroup.Group
	for _, s := range both {
		for i := range writers {
			g.Go(func() error { return s.write(t, i) })
		}
		g.Go(func() error { // beside them, as they come
			for range 20 {
				for _, path := range []string{infras + "?limit=7", infras + "?resourceVersion=0", infras + "?fieldSelector=metadata.name%3Dn-1", infras + "?labelSelector=side"} {
					if a := s.ask(t, request{path: path}); a.status != http.StatusOK && !a.again() {
						return fmt.Errorf("list beside writers: %w", a.err())
					}
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, s := range both {
		s.settled(t)
		all := decode[v1alpha1.InfraList](t, s.read(t, infras))
		if len(all.Items) != writers*4/5 {
			t.Errorf("%d objects in %s", len(all.Items), s.name)
		}
		for _, o := range all.Items {
			if o.Annotations["kcp.io/cluster"] != s.name || o.Labels["side"] != s.word || o.Spec.Description != s.word+" patched "+o.Name ||
				o.Status.Record.URI != s.account.URI(collection, o.Name) {
				t.Errorf("in %s: %+v", s.name, o)
			}
		}
		for n := range writers {
			name := fmt.Sprintf("n-%d", n)
			if r := s.record(t, name); n%5 == 0 && r != nil || n%5 != 0 && r["description"] != s.word+" patched "+name {
				t.Errorf("record %s of %s: %v", name, s.name, r)
			}
		}
		// The last word of the watch is the list's.
		last := map[string]string{}
		s.create(t, "the-end", s.word)
		watches[i].change(t, "ADDED", "the-end", s.word)
		for _, l := range watches[i].Seen() {
			s.look("watch", l)
			if ev := decode[event](t, l); ev.Type != "BOOKMARK" {
				o := ev.infra(t)
				last[o.Name] = ev.Type + " " + o.Spec.Description
			}
		}
		for n := range writers {
			name, want := fmt.Sprintf("n-%d", n), "MODIFIED"
			if n%5 == 0 {
				want = "DELETED"
			}
			if last[name] != fmt.Sprintf("%s %s patched %s", want, s.word, name) {
				t.Errorf("the last event of %s in %s is %q", name, s.name, last[name])
			}
		}
	}
	both[0].pages(t)
	both[1].pages(t)
	both[0].forgedTokens(t)
	for _, s := range both {
		for _, l := range s.leaks {
			t.Errorf("%s: %s", s.name, l)
		}
		if s.told < 2*writers {
			t.Errorf("%d answers were looked at in %s", s.told, s.name)
		}
	}
}

// write is one writer: an object is created, patched, and one in five is deleted.
func (s *side) write(t testing.TB, i int) error {
	name := fmt.Sprintf("n-%d", i)
	obj := newInfra(name, s.word+" created")
	obj.Labels = map[string]string{"side": s.word}
	type step struct {
		request
		done, doneBefore int // status; where it was done by an attempt whose answer was lost
	}
	steps := []step{
		{request{method: http.MethodPost, path: infras, body: obj}, http.StatusCreated, http.StatusConflict},
		{request{method: http.MethodPatch, path: infras + "/" + name, kind: mergePatch, body: fmt.Sprintf(`{"spec":{"description":"%s patched %s"}}`, s.word, name)}, http.StatusOK, http.StatusOK},
	}
	if i%5 == 0 {
		steps = append(steps, step{request{method: http.MethodDelete, path: infras + "/" + name}, http.StatusOK, http.StatusNotFound},
			step{request{path: infras + "/" + name}, http.StatusNotFound, http.StatusNotFound})
	}
	for _, r := range steps {
		a := s.ask(t, r.request)
		end := time.Now().Add(patience)
		for again := false; a.status != r.done && (!again || a.status != r.doneBefore); again = true {
			if !a.again() || time.Now().After(end) {
				return fmt.Errorf("%s %s in %s: %w", r.method, name, s.name, a.err())
			}
			a = s.ask(t, r.request)
		}
	}
	return nil
}

// again tells whether a request may be sent again, so many beside it on a slow machine:
// the server asks for that, or its time was over.
func (a answer) again() bool { return a.later() || a.status == http.StatusGatewayTimeout }

// pages reads the list page by page, and the other side's with its continue tokens.
func (s *side) pages(t *testing.T) {
	t.Helper()
	seen, path := map[string]bool{}, infras+"?limit=9"
	for n := 0; ; n++ {
		page := decode[v1alpha1.InfraList](t, s.read(t, path))
		for _, o := range page.Items {
			seen[o.Name] = true
		}
		if page.Continue == "" {
			break
		}
		// A token says where to go on, and not in which workspace: in another one it
		// shows that one's.
		a := s.twin.ask(t, request{path: infras + "?limit=9&continue=" + url.QueryEscape(page.Continue)})
		if a.status != http.StatusOK && a.status != http.StatusBadRequest && a.status != http.StatusGone {
			t.Errorf("a token of %s in %s: %d %s", s.name, s.twin.name, a.status, a.body)
		}
		for _, o := range decode[v1alpha1.InfraList](t, a.body).Items {
			if o.Annotations["kcp.io/cluster"] != s.twin.name {
				t.Errorf("a token of %s in %s shows %+v", s.name, s.twin.name, o)
			}
		}
		path = infras + "?limit=9&continue=" + url.QueryEscape(page.Continue)
		if n > writers {
			t.Fatal("the pages have no end")
		}
	}
	if len(seen) != writers*4/5+1 {
		t.Errorf("%d objects in the pages of %s", len(seen), s.name)
	}
}

// forgedTokens: a continue token that somebody wrote himself doesn't lead out of his
// workspace.
func (s *side) forgedTokens(t *testing.T) {
	t.Helper()
	token := decode[v1alpha1.InfraList](t, s.read(t, infras+"?limit=1")).Continue
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := json.Unmarshal(raw, &content); err != nil || content["start"] == nil {
		t.Fatalf("token %s: %v", raw, err)
	}
	for _, begin := range []string{
		"../" + s.twin.name + "/a", "..", "../", "/../" + s.twin.name + "/", "./../" + s.twin.name, "../../infras/" + s.twin.name + "/a\x00", "b/../../" + s.twin.name + "/a", "/registry/socialweb.computer/views/infras/" + s.twin.name + "/a",
		"", "\x00", "\xff", "zzz", "%2e%2e/" + s.twin.name, "..%2f" + s.twin.name, s.twin.name + "/a",
	} {
		content["start"] = begin
		forged := base64.RawURLEncoding.EncodeToString([]byte(encode(t, content)))
		for _, query := range []string{"?limit=500&continue=", "?continue=", "?limit=500&resourceVersion=&continue="} {
			a := s.do(t, request{path: infras + query + url.QueryEscape(forged)}) // a refusal says what it refuses
			if a.status != http.StatusBadRequest && (a.status != http.StatusOK || strings.Contains(begin, "..") && !strings.Contains(begin, "..%2f")) {
				t.Errorf("a token that begins at %q: %d %s", begin, a.status, a.body)
			}
			if a.status == http.StatusOK {
				s.look("token", a.body)
				for _, o := range decode[v1alpha1.InfraList](t, a.body).Items {
					if o.Annotations["kcp.io/cluster"] != s.name {
						t.Errorf("a token that begins at %q shows %+v", begin, o)
					}
				}
			}
		}
	}
}

// TestNothingIsToldOfOthers: what is only in another workspace is, in every answer, as
// if it were nowhere.
func TestNothingIsToldOfOthers(t *testing.T) {
	beside(t)
	e := start(t)
	both := e.sides(t, "told-one", "told-two")
	s, other := both[0], both[1]
	other.create(t, "theirs", other.word)
	s.create(t, "mine", s.word)
	e.credential(t, other.name, "second", other.account)
	if _, err := other.client.AtprotoRepos().Create(t.Context(), &v1alpha1.AtprotoRepo{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Spec: v1alpha1.AtprotoRepoSpec{DID: e.account(t).DID, PDS: e.pds.URL, Access: v1alpha1.AccessRead},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	body := func(name, spec string) string {
		return `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
	}
	// NAME is theirs, and then nobody's.
	for _, r := range []request{
		{path: infras + "/NAME"},
		{path: infras + "/NAME?resourceVersion=0"},
		{path: infras + "/NAME/status"},
		{path: infras + "?fieldSelector=metadata.name%3DNAME"},
		{path: infras + "?fieldSelector=metadata.name%3DNAME&resourceVersion=0"},
		{path: infras + "?fieldSelector=metadata.name%3DNAME", accept: asTable},
		{path: infras + "?fieldSelector=spec.NAME%3Dx"},
		{method: http.MethodPut, path: infras + "/NAME", body: body("NAME", `{"description":"x"}`)},
		{method: http.MethodPatch, path: infras + "/NAME", kind: mergePatch, body: `{"spec":{"description":"x"}}`},
		{method: http.MethodPatch, path: infras + "/NAME", kind: jsonPatch, body: `[{"op":"remove","path":"/spec/description"}]`},
		{method: http.MethodPatch, path: infras + "/NAME/status", kind: mergePatch, body: `{"status":{"phase":"Deployed"}}`},
		{method: http.MethodDelete, path: infras + "/NAME"},
		{method: http.MethodDelete, path: infras + "/NAME?dryRun=All"},
		{method: http.MethodDelete, path: infras + "?fieldSelector=metadata.name%3DNAME&dryRun=All"},
		{method: http.MethodPost, path: infras, body: body("bound", `{"record":{"repoRef":{"name":"NAME"}}}`)},
		{method: http.MethodPost, path: infras + "?dryRun=All", body: body("bound", `{"record":{"repoRef":{"name":"NAME"}}}`)},
		{method: http.MethodPost, path: infras, body: body("followed", `{"record":{"repoRef":{"name":"main"},"uri":"`+s.account.URI(collection, "NAME")+`"}}`)},
		{path: groupPath + "/atprotorepos/NAME"},
		{method: http.MethodDelete, path: groupPath + "/atprotorepos/NAME"},
		{method: http.MethodPost, path: groupPath + "/infracollections?dryRun=All", body: `{"apiVersion":"socialweb.computer/v1alpha1","kind":"InfraCollection","metadata":{"name":"c"},"spec":{"repoRef":{"name":"NAME"}}}`},
	} {
		told := func(name string) (int, string) {
			q := r
			q.path = strings.ReplaceAll(r.path, "NAME", name)
			if b, ok := r.body.(string); ok {
				q.body = strings.ReplaceAll(b, "NAME", name)
			}
			var a answer
			waitFor(t, "an answer", func() error {
				if a = s.ask(t, q); a.later() {
					return a.err()
				}
				return nil
			})
			return a.status, normal(strings.ReplaceAll(a.body, name, "NAME"))
		}
		status, text := told("theirs")
		ofNobody, textOfNobody := told("nobody")
		if status != ofNobody || text != textOfNobody {
			t.Errorf("%s %s: %d %s\nfor what is nowhere: %d %s", r.method, r.path, status, text, ofNobody, textOfNobody)
		}
	}
	// A dry run in one is of that one alone.
	if a := s.ask(t, request{method: http.MethodPost, path: infras + "?dryRun=All", body: body("theirs", `{}`)}); a.status != http.StatusCreated {
		t.Errorf("dry run of a name that another has: %d %s", a.status, a.body)
	}
	if a := s.ask(t, request{method: http.MethodPost, path: infras + "?dryRun=All", body: body("mine", `{}`)}); a.status != http.StatusConflict {
		t.Errorf("dry run of a name that is there: %d %s", a.status, a.body)
	}
	// The other's record can't be bound, whatever its URI.
	a := s.do(t, request{method: http.MethodPost, path: infras, body: body("followed", `{"record":{"repoRef":{"name":"main"},"uri":"`+other.account.URI(collection, "theirs")+`"}}`)})
	if a.status != http.StatusUnprocessableEntity {
		t.Errorf("binding to another's record: %d %s", a.status, a.body)
	}
	for _, l := range []request{{path: infras}, {path: groupPath + "/atprotorepos"}, {path: infras + "/mine"}} {
		s.ask(t, l)
	}
	for _, l := range s.leaks {
		t.Error(l)
	}
	if r := other.record(t, "theirs"); r["description"] != other.word {
		t.Errorf("the other's record is %v", r)
	}
	if got := other.infra(t, "theirs"); got.Generation != 1 || got.Status.Phase == v1alpha1.PhaseDeployed {
		t.Errorf("the other's object is %+v", got)
	}
}

// normal is a body without what differs from one answer to the next.
func normal(body string) string {
	var v map[string]any
	if json.Unmarshal([]byte(body), &v) != nil {
		return body
	}
	if m, ok := v["metadata"].(map[string]any); ok {
		for _, k := range []string{"resourceVersion", "uid", "creationTimestamp", "managedFields"} {
			delete(m, k)
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return body
	}
	return string(b)
}
