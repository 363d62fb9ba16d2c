package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// faultRun is one fault at work.
type faultRun struct {
	*env
	faultCase

	mu      sync.Mutex
	answers map[string]int // status by operation
}

// rv is the resourceVersion of the list as it is now: a watch from there shows nothing of
// what was done before.
func (s *server) rv(t testing.TB) string {
	t.Helper()
	l, err := s.client.Infras().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l.ResourceVersion
}

// all sends every request at once.
func (f *faultRun) all(t *testing.T) {
	t.Helper()
	var wg sync.WaitGroup
	for _, op := range faultOps() {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			a := f.doCtx(ctx, op.request)
			if err := f.judge(op, a); err != nil {
				t.Errorf("%s: %v", op.name, err)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.answers[op.name] = a.status
		})
	}
	wg.Wait()
}

// recovers: acknowledged writes are there, no other is half there, and every
// request that failed succeeds.
func (f *faultRun) recovers(t *testing.T) {
	t.Helper()
	client := etcd(t)
	waitFor(t, "end of the writes in flight", func() error {
		r, err := client.Get(t.Context(), f.prefix+"/intents/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err == nil && r.Count > 0 {
			err = fmt.Errorf("%d intents, the first is %s", r.Count, r.Kvs[0].Key)
		}
		return err
	})
	waitFor(t, "LIST", func() error { return f.agree(t) })
	descriptions := map[string]string{}
	for name, o := range f.objects(t) {
		descriptions[name] = o.description
	}
	_, made := descriptions["create"]
	_, there := descriptions["delete"]
	for op, kept := range map[string]bool{
		"PATCH of the declaration": descriptions["patch"] == "patched", "CREATE": made, "DELETE": !there,
	} {
		if s := f.answers[op]; (s == http.StatusOK || s == http.StatusCreated) && !kept {
			t.Errorf("%s was answered %d and is lost", op, s)
		}
	}
	if got := f.infra(t, "label"); got.Labels["l"] != "set" {
		t.Error("the label is lost")
	}
	waitFor(t, "status published", func() error {
		value, _ := f.account.get(t, "status")
		if status, _ := value["status"].(record); status["phase"] != "deploying" {
			return fmt.Errorf("record %v", value)
		}
		return nil
	})
	f.succeeds(t, "PATCH of the declaration", http.StatusOK)
	f.succeeds(t, "CREATE", http.StatusCreated, http.StatusConflict)
	f.succeeds(t, "DELETE", http.StatusOK, http.StatusNotFound)
	if err := f.agree(t); err != nil {
		t.Error(err)
	}
}

// succeeds repeats an operation until it does.
func (f *faultRun) succeeds(t *testing.T, name string, statuses ...int) {
	t.Helper()
	op := faultOps()[slices.IndexFunc(faultOps(), func(o faultOp) bool { return o.name == name })]
	waitFor(t, name, func() error {
		a := f.do(t, op.request)
		if !slices.Contains(statuses, a.status) {
			return fmt.Errorf("%d %s %v", a.status, a.body, a.err) //nolint:errorlint // there may be none
		}
		return nil
	})
}

// shown is what the API or the PDS shows of an Infra.
type shown struct{ description, cid string }

// objects are the Infras of a consistent list.
func (s *server) objects(t testing.TB) map[string]shown {
	t.Helper()
	l, err := s.client.Infras().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return shownIn(l)
}

func shownIn(l *v1alpha1.InfraList) map[string]shown {
	out := map[string]shown{}
	for _, i := range l.Items {
		o := shown{description: i.Spec.Description}
		if i.Status.Record != nil {
			o.cid = i.Status.Record.CID
		}
		out[i.Name] = o
	}
	return out
}

// records are the Infras as the PDS lists them.
func (a *account) records(t testing.TB) map[string]shown {
	t.Helper()
	out := map[string]shown{}
	for cursor := ""; ; {
		r := a.must(t, "com.atproto.repo.listRecords", url.Values{
			"repo": {a.DID}, "collection": {infraCollection}, "limit": {"100"}, "cursor": {cursor},
		}, nil)
		page, _ := r.body["records"].([]any)
		for _, e := range page {
			m := e.(record)
			uri := m["uri"].(string)
			description, _ := m["value"].(record)["description"].(string)
			out[uri[strings.LastIndex(uri, "/")+1:]] = shown{description, m["cid"].(string)}
		}
		if cursor = r.text("cursor"); cursor == "" || len(page) == 0 {
			return out
		}
	}
}

// agree compares objects and records. The publisher may write between the two
// looks, so callers that can't exclude that repeat it.
func (e *env) agree(t testing.TB) error {
	t.Helper()
	a := e.do(t, request{path: infras})
	if a.status != http.StatusOK {
		return fmt.Errorf("LIST: %d %s", a.status, a.body)
	}
	list := decode[v1alpha1.InfraList](t, a.body)
	if objects, records := shownIn(&list), e.account.records(t); !maps.Equal(objects, records) {
		return fmt.Errorf("objects %v, records %v", objects, records)
	}
	return nil
}
