package repostore

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/warning"
)

// Where objects of a repository are, and it can't be mounted, no consistent read
// passes as if they were new; a repository without objects holds up nobody.
func TestExpectedRepo(t *testing.T) {
	r := alone(t)
	r.hub.RemoveRepo(r.ws, testRepo)
	expected := ExpectedRepo{Workspace: r.ws, Name: testRepo, DID: testDID, Reason: "its PDS has a typo"}
	reads := map[string]func(context.Context) error{
		"LIST":               func(ctx context.Context) error { _, err := r.list(ctx); return err },
		"GET":                func(ctx context.Context) error { _, err := r.get(ctx, "o"); return err },
		"GET of no object":   func(ctx context.Context) error { _, err := r.get(ctx, "unknown"); return err },
		"create":             func(ctx context.Context) error { _, err := r.create(ctx, aWidget("o", "x")); return err },
		"current revision":   func(ctx context.Context) error { _, err := r.store.GetCurrentResourceVersion(ctx); return err },
		"change of nothing":  func(ctx context.Context) error { _, err := r.update(ctx, "unknown", "", public("x", "l")); return err },
		"delete, of nothing": func(ctx context.Context) error { return r.delete(ctx, "unknown") },
	}
	refused := func() {
		t.Helper()
		for what, read := range reads {
			if err := read(r.ctx()); !apierrors.IsServiceUnavailable(err) ||
				!strings.Contains(err.Error(), `"`+testRepo+`"`) || !strings.Contains(err.Error(), "typo") {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	r.hub.ExpectRepo(expected)
	refused()
	expected.StaleReads = true
	r.hub.ExpectRepo(expected)
	for what, read := range reads {
		got := &warnings{}
		err := read(warning.WithWarningRecorder(r.ctx(), got))
		if err != nil && !storage.IsNotFound(err) && !storage.IsExist(err) || len(got.all) == 0 || !strings.Contains(got.all[0], testRepo) {
			t.Errorf("%s, stale: %v, warnings %q", what, err, got.all)
		}
	}
	expected.StaleReads = false

	// Another AtprotoRepo serves the account: all is well.
	r.hub.ExpectRepo(expected)
	r.hub.SetRepo(MountedRepo{Workspace: r.ws, Name: "other", Repo: r.repo, Access: AccessReadWrite})
	if _, err := r.list(r.ctx()); err != nil {
		t.Errorf("served by another: %v", err)
	}
	r.hub.RemoveRepo(r.ws, "other")
	refused()

	// It is mounted at last; and a late word of it changes nothing.
	r.mount(AccessReadWrite)
	r.hub.ExpectRepo(expected)
	if _, err := r.list(r.ctx()); err != nil {
		t.Errorf("mounted: %v", err)
	}
	r.hub.RemoveRepo(r.ws, testRepo)
	if _, err := r.list(r.ctx()); err != nil {
		t.Errorf("without an AtprotoRepo: %v", err)
	}
}

// A repository that no object is of holds nobody up, unless its records were served
// before: then some may have appeared.
func TestExpectedRepoWithoutObjects(t *testing.T) {
	r := alone(t)
	typo := ExpectedRepo{Workspace: r.ws, Name: "typo", DID: "did:plc:carolcarolcarolcarolcarol", Reason: "no such account"}
	r.hub.ExpectRepo(typo)
	if _, err := r.list(r.ctx()); err != nil {
		t.Errorf("never served: %v", err)
	}
	if _, err := r.get(r.ctx(), "o"); err != nil {
		t.Errorf("GET: %v", err)
	}
	typo.Served = true
	r.hub.ExpectRepo(typo)
	if _, err := r.list(r.ctx()); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("served before: %v", err)
	}
	if err := r.hub.barrier(WithWorkspace(r.ctx(), "elsewhere")); err != nil {
		t.Errorf("another workspace: %v", err)
	}
}
