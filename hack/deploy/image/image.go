package image

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// User of the process, as the Deployment demands it, and its group.
const User = 65532

// Programs of the image, each at the root under its name. The first is what the image
// runs when it isn't told otherwise.
var Programs = []string{"infra-apiserver", "infra-controller"}

// VirtualWorkspaces is another name of the first program. kcp's operator runs
// /virtual-workspaces of the image that a VirtualWorkspace names.
const VirtualWorkspaces = "virtual-workspaces"

// Options of an image.
type Options struct {
	// Programs is a directory of each platform that holds its static Programs, by the
	// name of the architecture (amd64, arm64). The operating system is linux.
	Programs map[string]string
	// Version and Revision name what was built; Created is the time that all files
	// and the image bear.
	Version, Revision string
	Created           time.Time
}

// Write writes the image for all platforms to a directory as an OCI layout, in
// place of what was there, and returns its digest.
func Write(dir string, o Options) (v1.Hash, error) {
	index, err := Index(o)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return v1.Hash{}, fmt.Errorf("image: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // an image is no secret
		return v1.Hash{}, fmt.Errorf("image: %w", err)
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("image: %w", err)
	}
	// The name is what tools ask for that copy one image of a layout.
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: o.Version})); err != nil {
		return v1.Hash{}, fmt.Errorf("image: %w", err)
	}
	digest, err := index.Digest()
	if err != nil {
		return v1.Hash{}, fmt.Errorf("image: %w", err)
	}
	return digest, nil
}

// refName names an image within a layout.
const refName = "org.opencontainers.image.ref.name"

// Index is the image of all platforms.
func Index(o Options) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		dir, ok := o.Programs[arch]
		if !ok {
			return nil, fmt.Errorf("image: no programs for %s", arch)
		}
		platform := v1.Platform{OS: "linux", Architecture: arch}
		img, err := build(dir, platform, o)
		if err != nil {
			return nil, fmt.Errorf("image for %s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	annotated, ok := mutate.Annotations(index, o.labels()).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("image: %T is no index", index)
	}
	return annotated, nil
}

// layer of an image, before it is made.
type layer struct {
	of    string
	files []file
}

// layers of the image of a platform: what hardly changes below the programs, each of
// which is one of its own.
func layers(dir, arch string) ([]layer, error) {
	authorities, err := authorities()
	if err != nil {
		return nil, err
	}
	out := []layer{{"users and authorities", system(authorities)}}
	for _, name := range Programs {
		binary, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if err := checkProgram(bytes.NewReader(binary), arch); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files := []file{{name: name, mode: 0o755, content: binary}}
		if name == Programs[0] {
			files = append(files, file{name: VirtualWorkspaces, mode: 0o755, link: name})
		}
		out = append(out, layer{name, files})
	}
	return out, nil
}

// build makes the image of one platform.
func build(dir string, platform v1.Platform, o Options) (v1.Image, error) {
	all, err := layers(dir, platform.Architecture)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, l := range all {
		made, err := newLayer(l.files, o.Created)
		if err != nil {
			return nil, fmt.Errorf("layer of %s: %w", l.of, err)
		}
		if img, err = mutate.Append(img, mutate.Addendum{
			Layer: made, MediaType: types.OCILayer,
			History: v1.History{Created: v1.Time{Time: o.Created}, CreatedBy: l.of},
		}); err != nil {
			return nil, err
		}
	}
	img, err = mutate.ConfigFile(img, o.config(img, platform))
	if err != nil {
		return nil, err
	}
	annotated, ok := mutate.Annotations(img, o.labels()).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("%T is no image", img)
	}
	return annotated, nil
}
