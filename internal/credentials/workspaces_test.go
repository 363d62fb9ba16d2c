package credentials

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/kcp/export"
	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/internal/testkcp"
)

var alice = map[string]string{IdentifierKey: "alice.test\n", PasswordKey: secretWord}

// inKCP are credentials of a kcp of two shards, with workspace w1 on the first and w2 on
// the second.
func inKCP(t *testing.T) (*testkcp.KCP, *Workspaces, *testclock.FakeClock) {
	t.Helper()
	k := testkcp.Start(t, 2)
	for i, ws := range []string{"w1", "w2"} {
		k.Shard(i).Bind(ws, true)
		k.Shard(i).PutSecret(ws, "infra", "alice", true, alice)
	}
	client, err := export.New(k.Config, testkcp.Export)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdle)
	clock := testclock.NewFakeClock(time.Now())
	return k, NewWorkspaces(client, "infra", clock), clock
}

// secretsAsked are the shards that were asked for a Secret since.
func secretsAsked(k *testkcp.KCP) string {
	var out strings.Builder
	for _, p := range k.Requests() {
		if strings.Contains(p, "/secrets/") {
			out.WriteByte(p[len("/shard-")])
		}
	}
	return out.String()
}

// A Secret is found on whatever shard the workspace is, which is remembered.
func TestWorkspacesFindTheirShard(t *testing.T) {
	k, w, clock := inKCP(t)
	get := func(ws, shards string) {
		t.Helper()
		c, err := w.Get(t.Context(), ws, "alice")
		if err != nil || c.Identifier != "alice.test" || c.Password != secretWord {
			t.Errorf("%s: identifier %q, error %v", ws, c.Identifier, err)
		}
		if got := secretsAsked(k); got != shards {
			t.Errorf("%s: asked the shards %q, want %q", ws, got, shards)
		}
	}
	get("w2", "ab")
	get("w2", "b")
	get("w1", "a")
	// It is on another shard now.
	k.Shard(1).Unbind("w2")
	k.Shard(0).Bind("w2", true)
	k.Shard(0).PutSecret("w2", "infra", "alice", true, alice)
	get("w2", "ba")
	get("w2", "a")
	// A shard that has got its first workspace is known at once.
	clock.Step(sliceTerm)
	get("w1", "a")
	k.Shard(1).Bind("w3", true)
	k.Shard(1).PutSecret("w3", "infra", "alice", true, alice)
	get("w3", "ab")
	// What is known counts while the provider's workspace is away.
	clock.Step(2 * sliceTerm)
	k.Fail(func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "apiexportendpointslices") {
			return false
		}
		testkcp.Refuse(rw, apierrors.NewInternalError(errors.New("away")))
		return true
	})
	get("w3", "b")
}

// Only the word of the workspace itself is ErrNotFound, and whatever else goes wrong is
// neither that nor an answer of kcp's to a client of ours. No error holds a secret.
func TestWorkspacesErrors(t *testing.T) {
	k, w, _ := inKCP(t)
	k.Shard(0).PutSecret("w1", "infra", "hidden", false, alice)
	k.Shard(0).PutSecret("w1", "other", "elsewhere", true, alice)
	k.Shard(0).PutSecret("w1", "infra", "empty", true, map[string]string{IdentifierKey: "x.test", "pass": secretWord})
	k.Shard(0).Bind("refusing", false)
	failing := func(path string, f func(http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
		return func(rw http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, path) {
				f(rw)
				return true
			}
			return false
		}
	}
	garbage := func(rw http.ResponseWriter) { fmt.Fprintf(rw, `{"kind":"Secret","data":%q}`, secretWord) }
	for _, c := range []struct {
		name, ws, secret string
		fault            func(http.ResponseWriter, *http.Request) bool
		want             error
		says             string
	}{
		{"not there", "w1", "nobody", nil, ErrNotFound, "no Secret infra/nobody"},
		{"without the label", "w1", "hidden", nil, ErrNotFound, "labels"},
		{"of another namespace", "w1", "elsewhere", nil, ErrNotFound, ""},
		{"of another workspace", "w2", "hidden", nil, ErrNotFound, ""},
		{"claim not accepted", "refusing", "alice", nil, ErrUnavailable, "APIBinding contracts hasn't accepted"},
		{"not bound", "stranger", "alice", nil, ErrUnavailable, "doesn't bind the export"},
		{"the shard is broken", "w1", "alice", failing("shard-a", func(rw http.ResponseWriter) {
			testkcp.Refuse(rw, apierrors.NewInternalError(errors.New("etcd")))
		}), ErrUnavailable, "etcd"},
		{"a proxy's 404", "w1", "alice", failing("/secrets/", func(rw http.ResponseWriter) { http.Error(rw, "no way", http.StatusNotFound) }), ErrUnavailable, "doesn't show Secrets"},
		{"a 404 of another Secret", "w1", "alice", failing("/secrets/", func(rw http.ResponseWriter) {
			testkcp.Refuse(rw, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "bob"))
		}), ErrUnavailable, ""},
		{"no token", "w1", "alice", failing("/shard-", func(rw http.ResponseWriter) { testkcp.Refuse(rw, apierrors.NewUnauthorized("who")) }), ErrUnavailable, "who"},
		{"a redirect", "w1", "alice", failing("/secrets/", func(rw http.ResponseWriter) {
			rw.Header().Set("Location", "https://127.0.0.1:1/")
			rw.WriteHeader(http.StatusTemporaryRedirect)
		}), ErrUnavailable, "redirect"},
		{"no JSON", "w1", "alice", failing("/secrets/", func(rw http.ResponseWriter) { fmt.Fprint(rw, secretWord) }), ErrUnavailable, "can't be read"},
		{"no Secret's data", "w1", "alice", failing("/secrets/", garbage), ErrUnavailable, "can't be read"},
		{"another object", "w1", "alice", failing("/secrets/", func(rw http.ResponseWriter) { fmt.Fprint(rw, `{"kind":"Secret","metadata":{"name":"bob"}}`) }), ErrUnavailable, "another object"},
		{"no slice", "w1", "alice", failing("apiexportendpointslices", func(rw http.ResponseWriter) { http.NotFound(rw, nil) }), ErrUnavailable, "APIExportEndpointSlice"},
		{"no password", "w1", "empty", nil, nil, "password is empty"},
	} {
		w := NewWorkspaces(w.export, w.namespace, w.clock)
		k.Fail(c.fault)
		_, err := w.Get(t.Context(), c.ws, c.secret)
		if err == nil || (c.want != nil && !errors.Is(err, c.want)) || errors.Is(err, ErrNotFound) != errors.Is(c.want, ErrNotFound) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if api := repostore.ToAPIError(err, schema.GroupResource{Resource: "infras"}, "web"); !errors.Is(c.want, ErrNotFound) && !apierrors.IsServiceUnavailable(api) {
			t.Errorf("%s: a client of ours is told %v", c.name, api)
		}
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			t.Errorf("%s: a client of ours would be told what kcp said: %v", c.name, err)
		}
		if strings.Contains(err.Error(), secretWord) || strings.Contains(err.Error(), testkcp.Token) {
			t.Errorf("%s: the error holds a secret", c.name)
		}
	}
	k.Fail(nil)
	k.ClaimSecrets(false)
	if _, err := w.Get(t.Context(), "w1", "alice"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("an export without the claim: %v", err)
	}
	// None of these is even asked for.
	k.Requests()
	for _, id := range [][2]string{{"w1", "../infra/alice"}, {"w1/../w2", "alice"}, {"*", "alice"}, {"", "alice"}, {"w1", ""}, {"w1", "a/b"}} {
		if _, err := w.Get(t.Context(), id[0], id[1]); err == nil {
			t.Errorf("%v was accepted", id)
		}
	}
	if got := k.Requests(); len(got) > 0 {
		t.Errorf("asked for %q", got)
	}
}

// The server's own workspace never asks kcp, and no other asks its provider.
func TestSplit(t *testing.T) {
	k, w, _ := inKCP(t)
	s := Split{Default: "w1", Own: None{}, Others: w}
	if _, err := s.Get(t.Context(), "w1", "alice"); !errors.Is(err, ErrNotFound) || len(k.Requests()) > 0 {
		t.Errorf("its own: %v", err)
	}
	if _, err := s.Get(t.Context(), "w2", "alice"); err != nil {
		t.Errorf("another's: %v", err)
	}
}
