package registry

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"socialweb.computer/infra-apiserver/internal/repostore"
)

func TestKeysCarryTheWorkspace(t *testing.T) {
	s := &genericregistry.Store{DefaultQualifiedResource: schema.GroupResource{Group: "g", Resource: "things"}}
	useWorkspaceKeys(s)
	in := func(ws string) context.Context { return repostore.WithWorkspace(t.Context(), ws) }

	for ws, want := range map[string]string{"default": "/things/default", "w2": "/things/w2", "*": "/things"} {
		if got := s.KeyRootFunc(in(ws)); got != want {
			t.Errorf("root of %q: %q, want %q", ws, got, want)
		}
	}
	if got := s.KeyRootFunc(t.Context()); got != "/things" {
		t.Errorf("root without a workspace: %q", got)
	}
	got, err := s.KeyFunc(in("w2"), "a")
	if err != nil || got != "/things/w2/a" {
		t.Errorf("key: %q, %v", got, err)
	}
	// A name or a workspace must not reach beyond its own place.
	for _, c := range []struct{ ws, name string }{
		{"w2", ""}, {"w2", ".."}, {"w2", "../default/a"}, {"w2", "a/b"}, {"w2", "a%2fb"},
		{"*", "a"}, {"", "a"}, {"w2/..", "a"}, {"W2", "a"}, {strings.Repeat("w", 64), "a"},
	} {
		if key, err := s.KeyFunc(in(c.ws), c.name); !apierrors.IsBadRequest(err) {
			t.Errorf("%q in %q: key %q, error %v", c.name, c.ws, key, err)
		}
	}
	if key, err := s.KeyFunc(t.Context(), "a"); !apierrors.IsBadRequest(err) {
		t.Errorf("without a workspace: key %q, error %v", key, err)
	}
}
