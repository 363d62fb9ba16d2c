package image

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push copies the image of a layout to a registry, as the user whom the
// configuration of docker or podman names, and returns its name there by its digest.
func Push(ctx context.Context, dir, to string) (string, error) {
	ref, err := name.ParseReference(to)
	if err != nil {
		return "", fmt.Errorf("push: %w", err)
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return "", fmt.Errorf("push: %w", err)
	}
	digest, err := only(top)
	if err != nil {
		return "", fmt.Errorf("push: %s: %w", dir, err)
	}
	index, err := top.ImageIndex(digest)
	if err != nil {
		return "", fmt.Errorf("push: %w", err)
	}
	if err := remote.WriteIndex(ref, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return "", fmt.Errorf("push: %w", err)
	}
	return ref.Context().Digest(digest.String()).String(), nil
}

// only is the digest of the one image that a layout of ours has.
func only(top v1.ImageIndex) (v1.Hash, error) {
	m, err := top.IndexManifest()
	if err != nil {
		return v1.Hash{}, err
	}
	if len(m.Manifests) != 1 {
		return v1.Hash{}, fmt.Errorf("%d images in place of one", len(m.Manifests))
	}
	return m.Manifests[0].Digest, nil
}
