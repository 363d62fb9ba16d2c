package image

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// options with programs that are built for the test, and do nothing.
func options(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Programs: map[string]string{}, Version: "v1.2.3", Revision: "abc", Created: at}
	for _, arch := range []string{"amd64", "arm64"} {
		o.Programs[arch] = filepath.Join(dir, arch)
		first := filepath.Join(o.Programs[arch], Programs[0])
		cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", first, source)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, other := range Programs[1:] {
			if err := os.Link(first, filepath.Join(o.Programs[arch], other)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return o
}

// The same inputs make the same bytes, file by file, and what stands in the
// directory before has no part in it.
func TestReproducible(t *testing.T) {
	o, root := options(t), t.TempDir()
	first, second := filepath.Join(root, "a"), filepath.Join(root, "b")
	d1, err := Write(first, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(second, "blobs"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(second, "blobs", "old"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	d2, err := Write(second, o)
	if err != nil {
		t.Fatal(err)
	}
	if d1 != d2 {
		t.Errorf("digests %s and %s", d1, d2)
	}
	a, b := contents(t, first), contents(t, second)
	if !maps.Equal(a, b) {
		t.Errorf("files differ: %v and %v", slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
	}
	o.Revision = "other"
	if d3, err := Write(second, o); err != nil || d3 == d1 {
		t.Errorf("another revision has the digest %s, error %v", d3, err)
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What a container runtime finds in the layout.
func TestLayout(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "image")
	digest, err := Write(dir, options(t))
	if err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest != digest || manifest.Manifests[0].Annotations[refName] != "v1.2.3" {
		t.Fatalf("the layout names %+v", manifest.Manifests)
	}
	all, err := index.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := all.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range platforms.Manifests {
		names = append(names, m.Platform.String())
		img, err := all.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, img, m.Platform)
	}
	if !slices.Equal(names, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("platforms %v", names)
	}
}

func checkImage(t *testing.T, img v1.Image, platform *v1.Platform) {
	t.Helper()
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c.OS != platform.OS || c.Architecture != platform.Architecture || c.Config.User != "65532:65532" || !slices.Equal(c.Config.Entrypoint, []string{"/infra-apiserver"}) {
		t.Errorf("config %+v", c)
	}
	for _, l := range []string{"title", "description", "licenses", "version", "revision", "created"} {
		if c.Config.Labels["org.opencontainers.image."+l] == "" {
			t.Errorf("label %s is missing", l)
		}
	}
	if len(c.History) != len(c.RootFS.DiffIDs) || !c.Created.Equal(at) {
		t.Errorf("history %v of layers %v, created %s", c.History, c.RootFS.DiffIDs, c.Created)
	}
	files := unpack(t, img)
	want := []string{"etc/", "etc/group", "etc/nsswitch.conf", "etc/passwd", "etc/ssl/", "etc/ssl/certs/", "etc/ssl/certs/ca-certificates.crt", "infra-apiserver", "infra-controller", VirtualWorkspaces}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("files %v", got)
	}
	if !strings.Contains(files["etc/passwd"], ":65532:65532:") {
		t.Errorf("passwd %q", files["etc/passwd"])
	}
	if to := files[VirtualWorkspaces]; to != "-> infra-apiserver" {
		t.Errorf("%s is %.40q", VirtualWorkspaces, to)
	}
	for _, name := range Programs {
		if err := checkProgram(strings.NewReader(files[name]), platform.Architecture); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// unpack reads all layers. Everything must be root's, of one time, and for others
// to read alone.
func unpack(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, l := range layers {
		r, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for files := tar.NewReader(r); ; {
			h, err := files.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if h.Uid != 0 || h.Gid != 0 || h.Mode&0o022 != 0 || !h.ModTime.Equal(at) {
				t.Errorf("%s: owner %d:%d, mode %o, time %s", h.Name, h.Uid, h.Gid, h.Mode, h.ModTime)
			}
			b, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			out[h.Name] = string(b)
			if h.Typeflag == tar.TypeSymlink {
				out[h.Name] = "-> " + h.Linkname
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	return out
}

// Go reads the authorities, all of them.
func TestAuthorities(t *testing.T) {
	b, err := authorities()
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		t.Fatal("unreadable")
	}
	n := bytes.Count(b, []byte("BEGIN CERTIFICATE"))
	if n < 100 || !bytes.Contains(b, []byte("ISRG Root X1")) {
		t.Errorf("%d authorities, or Let's Encrypt isn't one", n)
	}
}

func TestRefusedPrograms(t *testing.T) {
	good := options(t)
	text := t.TempDir()
	for _, name := range Programs {
		if err := os.WriteFile(filepath.Join(text, name), []byte(strings.Repeat("no program ", 20)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		programs map[string]string
		want     string
	}{
		"one is missing":          {map[string]string{"amd64": good.Programs["amd64"]}, "no programs for arm64"},
		"of another architecture": {map[string]string{"amd64": good.Programs["arm64"], "arm64": good.Programs["arm64"]}, "not for amd64"},
		"not a program":           {map[string]string{"amd64": text, "arm64": good.Programs["arm64"]}, "bad magic"},
		"not there":               {map[string]string{"amd64": "nowhere", "arm64": good.Programs["arm64"]}, "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			o.Programs = c.programs
			if _, err := Write(filepath.Join(t.TempDir(), "image"), o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// A program that needs a loader would start nowhere.
func TestDynamicProgramIsRefused(t *testing.T) {
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		if err := checkProgram(bytes.NewReader(shell), arch); err == nil {
			t.Errorf("accepted for %s", arch)
		}
	}
}
