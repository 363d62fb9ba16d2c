package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"socialweb.computer/infra-apiserver/hack/deploy/image"
)

// buildImage builds the programs for all platforms and the image of them.
func buildImage(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("deploy image", flag.ContinueOnError)
	module := flags.String("module", ".", "directory of the server's module")
	out := flags.String("out", "dist/image", "directory that becomes the OCI layout")
	ldflags := flags.String("ldflags", "-s -w", "go build's -ldflags")
	version := flags.String("version", "v0.0.0", "version of the image, and its name in the layout")
	revision := flags.String("revision", "unknown", "commit that the image was built from")
	created := flags.Int64("created", 0, "time that the image bears, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "infra-apiserver-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left harms nobody
	o := image.Options{Programs: map[string]string{}, Version: *version, Revision: *revision, Created: time.Unix(*created, 0).UTC()}
	for _, arch := range []string{"amd64", "arm64"} {
		o.Programs[arch] = filepath.Join(dir, arch)
		// No path of this machine is in a program, so that any machine builds the
		// same ones.
		//nolint:gosec // the flags are those of whoever builds
		cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", *ldflags, "-o", o.Programs[arch] + "/"}, packages()...)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = *module, os.Stdout, os.Stderr
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=")
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("programs for %s: %w", arch, err)
		}
	}
	digest, err := image.Write(*out, o)
	if err != nil {
		return err
	}
	fmt.Printf("%s:%s@%s\n", *out, *version, digest)
	return nil
}

// packages of the image's programs.
func packages() []string {
	out := make([]string, len(image.Programs))
	for i, name := range image.Programs {
		out[i] = "./cmd/" + name
	}
	return out
}
