package image

import (
	"fmt"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// labels say what the image is, in the words of the OCI's annotations.
func (o Options) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "infra-apiserver",
		"org.opencontainers.image.description": "A Kubernetes API whose objects are records of atproto repositories",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     o.Version,
		"org.opencontainers.image.revision":    o.Revision,
		"org.opencontainers.image.created":     o.Created.UTC().Format(time.RFC3339),
	}
}

// config says how the image runs: as a user without rights, and without a shell.
func (o Options) config(img v1.Image, platform v1.Platform) *v1.ConfigFile {
	config := &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture,
		Created: v1.Time{Time: o.Created},
		Config: v1.Config{
			User:         fmt.Sprintf("%d:%d", User, User),
			Entrypoint:   []string{"/" + Programs[0]},
			Env:          []string{"PATH=/", "SSL_CERT_FILE=" + authoritiesFile},
			WorkingDir:   "/",
			Labels:       o.labels(),
			ExposedPorts: map[string]struct{}{"8443/tcp": {}},
			StopSignal:   "SIGTERM",
		},
	}
	if built, err := img.ConfigFile(); err == nil {
		config.RootFS, config.History = built.RootFS, built.History
	}
	return config
}
