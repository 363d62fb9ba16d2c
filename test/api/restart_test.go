package api

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// snapshot is every Infra, by name: as of now, or with a resourceVersion of "0" as it is
// shown without the PDS.
func (s *server) snapshot(t *testing.T, rv string) map[string]v1alpha1.Infra {
	t.Helper()
	out := map[string]v1alpha1.Infra{}
	l, err := s.client.Infras().List(t.Context(), metav1.ListOptions{ResourceVersion: rv})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range l.Items {
		out[i.Name] = i
	}
	return out
}

// populate makes ten objects: by the API and by the PDS, some with labels, some
// with a status that is published.
func populate(t *testing.T, e *env) {
	t.Helper()
	for i := range 10 {
		name := fmt.Sprintf("o%d", i)
		if i%2 == 0 {
			e.account.put(t, name, infraRecord("theirs"))
			e.infra(t, name)
		} else {
			e.create(t, newInfra(name, "ours"))
		}
		e.must(t, request{method: http.MethodPatch, path: infras + "/" + name, kind: mergePatch, body: `{"metadata":{"labels":{"l":"x"}}}`})
	}
	e.setPhase(t, "o1", v1alpha1.PhaseDeployed)
	waitFor(t, "publishing", func() error { return contains(e.account.raw(t, "o1"), "deployed") })
	e.settled(t)
}

// TestRestartChangesNothing: after a restart every object that nobody touched is
// what it was, in every field; what changed meanwhile shows; and the server starts
// and serves its cache while the PDS is away.
func TestRestartChangesNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	populate(t, e)
	before := e.snapshot(t, "")
	e.restart(t)
	if diff := cmp.Diff(before, e.snapshot(t, "")); diff != "" { // a consistent list: everything was compared
		t.Errorf("before (-), after (+):\n%s", diff)
	}

	e.restart(t, func() { e.proxy.Set(testproxy.Fault{Kind: testproxy.Refused}) })
	if diff := cmp.Diff(before, e.snapshot(t, "0")); diff != "" {
		t.Errorf("started without the PDS: before (-), after (+):\n%s", diff)
	}
	for _, path := range []string{infras, infras + "/o1"} {
		if a := e.do(t, request{path: path}); a.status != unavailable {
			t.Errorf("%s without the PDS: %d %s", path, a.status, a.body)
		}
	}
	if a := e.do(t, request{method: http.MethodPatch, path: infras + "/o1", kind: mergePatch, body: `{"metadata":{"labels":{"l":"y"}}}`}); a.status != http.StatusOK {
		t.Errorf("a label without the PDS: %d %s", a.status, a.body)
	}
	e.proxy.Clear()

	e.restart(t, func() {
		e.account.put(t, "o2", infraRecord("while it was down"))
		e.account.remove(t, "o3")
		e.account.put(t, "o10", infraRecord("while it was down"))
	})
	objects := e.objects(t)
	_, gone := objects["o3"]
	if objects["o2"].description != "while it was down" || objects["o10"].description != "while it was down" || gone || len(objects) != 10 {
		t.Errorf("after edits while it was down: %v", objects)
	}
	if got := e.infra(t, "o2"); got.UID != before["o2"].UID || got.Generation != before["o2"].Generation+1 {
		t.Errorf("o2 %+v, was %+v", got.ObjectMeta, before["o2"].ObjectMeta)
	}
}

// TestWipedViewsAreRebuilt: with every view gone from etcd, the next start serves
// every record again, under its old uid, with the status that it publishes; what
// was unbound stays away.
func TestWipedViewsAreRebuilt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		populate(t, e)
		e.create(t, newInfra("unbound", "x"))
		e.must(t, request{method: http.MethodPatch, path: infras + "/unbound", kind: mergePatch, body: `{"spec":{"record":null}}`})
		before := e.snapshot(t, "")
		e.restart(t, func() {
			r, err := etcd(t).Delete(t.Context(), e.prefix+"/views/", clientv3.WithPrefix())
			if err != nil || r.Deleted != int64(len(before)) {
				t.Fatalf("%d views wiped, of %d: %v", r.Deleted, len(before), err)
			}
		})
		uids := func(objects map[string]v1alpha1.Infra) map[string]types.UID {
			out := map[string]types.UID{}
			for name, i := range objects {
				if name != "unbound" {
					out[name] = i.UID
				}
			}
			return out
		}
		after := e.snapshot(t, "")
		if diff := cmp.Diff(uids(before), uids(after)); diff != "" {
			t.Errorf("uids before (-), after (+):\n%s", diff)
		}
		if _, back := after["unbound"]; back {
			t.Error("the unbound record reappeared")
		}
		for name, i := range after {
			if i.Spec.Description != before[name].Spec.Description || i.Status.Record.CID != before[name].Status.Record.CID {
				t.Errorf("%s: %+v, was %+v", name, i, before[name])
			}
		}
		if after["o1"].Status.Phase != v1alpha1.PhaseDeployed {
			t.Errorf("phase %q", after["o1"].Status.Phase)
		}
		if err := e.agree(t); err == nil {
			t.Error("the unbound record is served")
		}
	})
}
