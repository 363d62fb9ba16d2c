package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// many records are put by a few calls.
func (a *account) many(t *testing.T, n int) {
	t.Helper()
	const most = 200
	for done := 0; done < n; done += most {
		var writes []any
		for i := done; i < min(done+most, n); i++ {
			writes = append(writes, record{
				"$type": "com.atproto.repo.applyWrites#create", "collection": infraCollection,
				"rkey": fmt.Sprintf("o%04d", i), "value": infraRecord(fmt.Sprint(i)),
			})
		}
		a.must(t, "com.atproto.repo.applyWrites", nil, record{"repo": a.DID, "validate": false, "writes": writes})
	}
}

// list is a list as JSON.
type list struct {
	Metadata struct {
		ResourceVersion    string `json:"resourceVersion"`
		Continue           string `json:"continue"`
		RemainingItemCount *int64 `json:"remainingItemCount"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// TestManyObjects: 1,200 records, half of them labelled: all of them in one list,
// each as a GET shows it, and page by page, with and without a selector, while
// others write.
func TestManyObjects(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	const n = 1200
	e.account.many(t, n)
	all := decode[list](t, e.must(t, request{path: infras}).body)
	if len(all.Items) != n || all.Metadata.Continue != "" {
		t.Fatalf("%d items, continue %q", len(all.Items), all.Metadata.Continue)
	}
	for i := 0; i < n; i += 97 {
		e.listAsGet(t, fmt.Sprintf("o%04d", i))
	}
	var g errgroup.Group
	g.SetLimit(8)
	for i := 0; i < n; i += 2 {
		g.Go(func() error {
			a := e.do(t, request{method: http.MethodPatch, path: fmt.Sprintf("%s/o%04d", infras, i), kind: mergePatch, body: `{"metadata":{"labels":{"half":"yes"}}}`})
			if a.status != http.StatusOK {
				return fmt.Errorf("label: %d %s", a.status, a.body)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	g.Go(func() error { // as the pages are read, objects come, go and change
		for i := 0; ctx.Err() == nil; i++ {
			e.account.put(t, fmt.Sprintf("o%04d", n+i%50), infraRecord(fmt.Sprint(i)))
			e.account.put(t, fmt.Sprintf("o%04d", (i*7)%n), infraRecord(fmt.Sprint(i)))
			e.account.remove(t, fmt.Sprintf("o%04d", n+(i+25)%50))
		}
		return nil
	})
	for _, query := range []string{"", "&labelSelector=half%3Dyes", "&resourceVersion=0"} {
		e.walk(t, query)
	}
	stop()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if a := e.do(t, request{path: infras + "?limit=10&continue=garbage"}); a.status != http.StatusBadRequest {
		t.Errorf("a garbage token: %d %s", a.status, a.body)
	}
}

// listAsGet compares an object in a list with a GET of it. The server may mark it
// as being in sync between the two; then both are asked again.
func (e *env) listAsGet(t *testing.T, name string) {
	t.Helper()
	version := func(o record) any { return o["metadata"].(record)["resourceVersion"] }
	waitFor(t, "the same version of "+name, func() error {
		items := decode[list](t, e.must(t, request{path: infras + "?fieldSelector=metadata.name%3D" + name}).body).Items
		if len(items) != 1 {
			t.Fatalf("%d objects %s", len(items), name)
		}
		item := decode[record](t, string(items[0]))
		got := decode[record](t, e.must(t, request{path: infras + "/" + name}).body)
		if version(item) != version(got) {
			return fmt.Errorf("%v and %v", version(item), version(got))
		}
		delete(got, "kind")
		delete(got, "apiVersion")
		if diff := cmp.Diff(got, item); diff != "" {
			t.Errorf("GET (-), LIST (+):\n%s", diff)
		}
		return nil
	})
}

// walk reads all pages: each object once, all of one resourceVersion, and those
// that are there all the time all there.
func (e *env) walk(t *testing.T, query string) {
	t.Helper()
	seen, rv, token := map[string]int{}, "", ""
	for {
		p := decode[list](t, e.must(t, request{path: infras + "?limit=100" + query + "&continue=" + url.QueryEscape(token)}).body)
		if rv == "" {
			rv = p.Metadata.ResourceVersion
		}
		if p.Metadata.ResourceVersion != rv {
			t.Errorf("%s: a page of %s after one of %s", query, p.Metadata.ResourceVersion, rv)
		}
		if p.Metadata.RemainingItemCount != nil && (p.Metadata.Continue == "" || query == "&labelSelector=half%3Dyes") {
			t.Errorf("%s: %d remaining, continue %q", query, *p.Metadata.RemainingItemCount, p.Metadata.Continue)
		}
		for _, raw := range p.Items {
			m := decode[struct{ Metadata metav1.ObjectMeta }](t, string(raw))
			seen[m.Metadata.Name]++
		}
		token = p.Metadata.Continue
		if query == "&resourceVersion=0" { // a continued list names no version
			query = ""
		}
		if token == "" {
			break
		}
	}
	for name, times := range seen {
		if times != 1 {
			t.Errorf("%s: %s %d times", query, name, times)
		}
	}
	step := 1
	if query == "&labelSelector=half%3Dyes" {
		step = 2
	}
	for i := 0; i < 1200; i += step {
		if seen[fmt.Sprintf("o%04d", i)] == 0 {
			t.Errorf("%s: o%04d is missing", query, i)
		}
	}
	if step == 2 && len(seen) != 600 {
		t.Errorf("%d objects have the label", len(seen))
	}
}

// TestFieldSelectors: metadata.name selects, any other field is named in a 400.
func TestFieldSelectors(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	for _, name := range []string{"a", "ab"} {
		e.create(t, newInfra(name, "x"))
	}
	e.inCache(t, "a", "ab")
	for query, want := range map[string]int{
		"fieldSelector=metadata.name%3Da": 1, "fieldSelector=metadata.name%3Dnone": 0, "fieldSelector=metadata.name!%3Da": 1,
		"fieldSelector=metadata.name%3Da&resourceVersion=0": 1, "fieldSelector=metadata.name%3Da&limit=1": 1,
	} {
		if got := decode[list](t, e.must(t, request{path: infras + "?" + query}).body); len(got.Items) != want {
			t.Errorf("%s: %d items, want %d", query, len(got.Items), want)
		}
	}
	for _, query := range []string{"", "watch=1&", "resourceVersion=0&"} {
		a := e.do(t, request{path: infras + "?" + query + "fieldSelector=spec.nope%3D1"})
		if a.status != http.StatusBadRequest || contains(a.failure.Message, "spec.nope") != nil {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}
