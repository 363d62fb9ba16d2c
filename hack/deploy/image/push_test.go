package image

import (
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// What a registry got is the image of the layout, for both platforms.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "image")
	digest, err := Write(dir, options(t))
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	pushed, err := Push(t.Context(), dir, host+"/some/infra-apiserver:v1")
	if err != nil || pushed != host+"/some/infra-apiserver@"+digest.String() {
		t.Fatalf("pushed %s, error %v", pushed, err)
	}
	ref, err := name.ParseReference(pushed)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	for to, layout := range map[string]string{"No Reference": dir, host + "/x:v1": t.TempDir()} {
		if _, err := Push(t.Context(), layout, to); err == nil {
			t.Errorf("pushed %s to %q", layout, to)
		}
	}
}
