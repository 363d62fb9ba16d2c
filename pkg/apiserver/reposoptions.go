package apiserver

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/repos"
)

// RepoOptions say how the server reaches repositories.
type RepoOptions struct {
	// CredentialsDir holds credentials as <workspace>/<name>/identifier and
	// …/password.
	CredentialsDir string
	// CredentialsNamespace holds credentials as Secrets <workspace>.<name> of the
	// host cluster.
	CredentialsNamespace string
	// AllowPrivate lets PDSes and directories be at private and loopback
	// addresses. Workspaces are tenants, so it is off by default.
	AllowPrivate bool
	// PLCURL is the did:plc directory; "": the public one.
	PLCURL string
	// Jetstream is the server of AtprotoRepos whose event source is Jetstream and
	// that name none.
	Jetstream string
	// PollInterval of the event source Poll; 0: its default.
	PollInterval time.Duration
	// RequestRate is how many requests a second one PDS host gets from this
	// process; 0: as many as the PDS allows.
	RequestRate float64
	// LookRate is how many times a second, for each PDS host, one replica asks for
	// the head of a repository that announced nothing lately; 0: never.
	LookRate float64

	// Identities and Keys replace the did:plc directory. They have no flag: dev
	// sets them for a PDS whose accounts no directory knows.
	Identities repos.Identities
	Keys       atproto.KeyResolver
}

// AddFlags binds the options to flags.
func (o *RepoOptions) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.CredentialsDir, "credentials-dir", o.CredentialsDir,
		"Directory with the credentials of accounts: <workspace>/<name>/identifier and <workspace>/<name>/password.")
	fs.StringVar(&o.CredentialsNamespace, "credentials-namespace", o.CredentialsNamespace,
		"Namespace of the host cluster with the credentials of accounts: Secrets <workspace>.<name> with the keys identifier and password.")
	fs.BoolVar(&o.AllowPrivate, "allow-private-addresses", o.AllowPrivate,
		"Let PDSes be at private and loopback addresses. Whoever may create an AtprotoRepo can then make the server ask there.")
	fs.StringVar(&o.PLCURL, "plc-url", o.PLCURL, "The did:plc directory. Empty: https://plc.directory.")
	fs.StringVar(&o.Jetstream, "jetstream-url", o.Jetstream, "The Jetstream server of AtprotoRepos that name none.")
	fs.DurationVar(&o.PollInterval, "poll-interval", o.PollInterval, "Time between two looks at a repository whose event source is Poll. 0: 5s.")
	fs.Float64Var(&o.RequestRate, "pds-request-rate", o.RequestRate,
		"Requests a second that one PDS host gets from this process. 0: as many as the PDS allows.")
	fs.Float64Var(&o.LookRate, "pds-look-rate", o.LookRate,
		"How many times a second, for each PDS host, one replica asks for the head of a repository that announced nothing lately: an idle PDS announces up to a second late. For a PDS of one's own; 0: never.")
}

// Validate tells everything that is wrong with the options.
func (o *RepoOptions) Validate() []error {
	var errs []error
	if o.CredentialsDir != "" && o.CredentialsNamespace != "" {
		errs = append(errs, errors.New("--credentials-dir and --credentials-namespace exclude each other"))
	}
	for flag, u := range map[string]string{"--plc-url": o.PLCURL, "--jetstream-url": o.Jetstream} {
		if p, err := url.Parse(u); u != "" && (err != nil || p.Host == "") {
			errs = append(errs, fmt.Errorf("%s %q is not a URL", flag, u))
		}
	}
	if o.RequestRate < 0 {
		errs = append(errs, errors.New("--pds-request-rate must not be negative"))
	}
	if o.PollInterval < 0 {
		errs = append(errs, errors.New("--poll-interval must not be negative"))
	}
	return errs
}
