package provider

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

const (
	// DefaultExport is the name of the APIExport.
	DefaultExport = "computecontracts"
	// DefaultTimeout bounds how long kcp may take to act on what was applied.
	DefaultTimeout = time.Minute
	// FieldManager owns what Init applies.
	FieldManager = "infra-apiserver-kcp"
)

// Options of Init.
type Options struct {
	// Config reaches the provider workspace: its URL ends with /clusters/<workspace>.
	Config *rest.Config
	// URLs of our server's door, as shards reach it: one, or one for each URL of virtual
	// workspaces where the shards have several.
	URLs []string
	// Authorities sign our server's certificate, in PEM. Empty: those of Config.
	Authorities []byte
	// ShardCertificate is what a shard shows at our server's door. Nil: the door isn't
	// tried as a shard.
	ShardCertificate *tls.Certificate
	// Export is the name of the APIExport.
	Export string
	// DryRun: nothing is written, and what would be is told.
	DryRun bool
	// Force takes over fields that somebody else manages, and leads shards elsewhere though
	// tenants have objects.
	Force bool
	// Timeout bounds how long kcp may take to act on what was applied.
	Timeout time.Duration
	// Out gets a line for each object.
	Out io.Writer
}

// Validate says what of the options can't be.
func (o *Options) Validate() error {
	var errs []error
	if len(o.URLs) == 0 {
		errs = append(errs, errors.New("--url is needed: where the shards reach this server, like https://kcp.example.com/services/infra"))
	}
	for i, u := range o.URLs {
		if err := validateURL(u); err != nil {
			errs = append(errs, fmt.Errorf("--url %s: %w", u, err))
		}
		if slices.Contains(o.URLs[:i], u) {
			errs = append(errs, fmt.Errorf("--url %s is there twice", u))
		}
	}
	if msgs := validation.IsDNS1123Subdomain(o.Export); len(msgs) > 0 {
		errs = append(errs, fmt.Errorf("--export %q: %s", o.Export, strings.Join(msgs, ", ")))
	}
	if o.Timeout <= 0 {
		errs = append(errs, errors.New("--timeout must be positive"))
	}
	return errors.Join(errs...)
}

// validateURL: a shard appends /clusters/<workspace>/… to it as it stands.
func validateURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("it is no URL") // which the error would repeat
	case u.Scheme != "https" || u.Host == "":
		return errors.New("it must begin with https:// and a host")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return errors.New("it must be a host and a path alone")
	case strings.HasSuffix(u.Path, "/"):
		return errors.New("it must not end with /: shards append /clusters/…")
	case strings.Contains(u.Path+"/", "/clusters/"):
		return errors.New("it must not name a workspace: shards append /clusters/…")
	}
	return nil
}
