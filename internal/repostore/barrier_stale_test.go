package repostore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/warning"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// warnings keeps what a request was warned of, each text once, as the API server's
// recorder does: a list that the cache is too late for asks the storage, and so the
// barrier, a second time.
type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) AddWarning(_, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.all, text) {
		w.all = append(w.all, text)
	}
}

// Stale reads, where its owner allows them, are answered with a warning that names
// the repository and the rev.
func TestStaleReads(t *testing.T) {
	w := newWorld(t)
	r := w.prepareLive("A")
	r.hub.SetRepo(MountedRepo{Workspace: w.ws, Name: testRepo, Repo: w.repo, Source: r.src, Default: true, Access: AccessReadWrite, StaleReads: true})
	r.hub.SetMountsLoaded()
	r.run()
	if _, err := r.create(r.ctx(), aWidget("o", "base")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.list(r.ctx()); err != nil {
		t.Fatal(err)
	}
	w.repo.setDown(atproto.ErrUnavailable)
	for what, read := range map[string]func(context.Context) error{
		"GET":  func(ctx context.Context) error { _, err := r.get(ctx, "o"); return err },
		"LIST": func(ctx context.Context) error { _, err := r.list(ctx); return err },
	} {
		got := &warnings{}
		if err := read(warning.WithWarningRecorder(r.ctx(), got)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		want := fmt.Sprintf("AtprotoRepo %q is unavailable; this answer shows it at rev %q or later", testRepo, w.repo.head())
		if len(got.all) != 1 || got.all[0] != want {
			t.Errorf("%s: warnings %q, want %q", what, got.all, want)
		}
	}
	got := &warnings{}
	if _, err := r.get(warning.WithWarningRecorder(r.ctx(), got), "unknown"); !storage.IsNotFound(err) || len(got.all) != 1 {
		t.Errorf("GET of an unknown name: %v, warnings %q", err, got.all)
	}
	w.repo.setDown(nil)
	got = &warnings{}
	if _, err := r.list(warning.WithWarningRecorder(r.ctx(), got)); err != nil || len(got.all) > 0 {
		t.Errorf("after the outage: %v, warnings %q", err, got.all)
	}
}

// Until every AtprotoRepo is known nothing consistent can be answered.
func TestMountsNotLoaded(t *testing.T) {
	w := newWorld(t)
	r := w.prepareLive("A")
	r.run()
	if _, err := r.get(r.ctx(), "o"); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("GET: %v", err)
	}
	if _, err := r.list(r.ctx()); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("LIST: %v", err)
	}
	if _, err := r.create(r.ctx(), aWidget("o", "base")); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("create: %v", err)
	}
	if err := r.hub.Ready(); err == nil {
		t.Error("ready before the repositories are known")
	}
	if _, err := r.cached(); err != nil {
		t.Errorf("LIST with resourceVersion=0: %v", err)
	}
	r.hub.SetMountsLoaded()
	if _, err := r.list(r.ctx()); err != nil {
		t.Errorf("LIST after it: %v", err)
	}
}
