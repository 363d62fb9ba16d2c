package apiserver

import (
	"fmt"
	"math"
	"os"
	"time"

	"github.com/spf13/pflag"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/validation"

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
	// KCPCredentials are those of the workspaces of a kcp, beside these of the server's
	// own workspace.
	KCPCredentials KCPCredentials
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

	// Etcd, where set, makes the client of the repositories' own transactions,
	// beside --etcd-servers of the stock storage. It has no flag: dev's etcd is in
	// this process, and needs no connection.
	Etcd func() *clientv3.Client
}

// AddFlags binds the options to flags.
func (o *RepoOptions) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.CredentialsDir, "credentials-dir", o.CredentialsDir,
		"Directory with the credentials of accounts: <workspace>/<name>/identifier and <workspace>/<name>/password.")
	fs.StringVar(&o.CredentialsNamespace, "credentials-namespace", o.CredentialsNamespace,
		"Namespace of the host cluster with the credentials of accounts: Secrets <workspace>.<name> with the keys identifier and password.")
	o.KCPCredentials.AddFlags(fs)
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
		errs = append(errs, fmt.Errorf("--credentials-dir %q and --credentials-namespace %q exclude each other: leave one out", o.CredentialsDir, o.CredentialsNamespace))
	}
	if dir := o.CredentialsDir; dir != "" {
		if st, err := os.Stat(dir); err != nil {
			errs = append(errs, fmt.Errorf("--credentials-dir %q: %w: create it, or leave the flag out", dir, cause(err)))
		} else if !st.IsDir() {
			errs = append(errs, fmt.Errorf("--credentials-dir %q: is not a directory: name one", dir))
		}
	}
	if ns := o.CredentialsNamespace; ns != "" && len(validation.IsDNS1123Label(ns)) > 0 {
		errs = append(errs, fmt.Errorf("--credentials-namespace %q: can't be a namespace: write it like infra-credentials", ns))
	}
	errs = append(errs, o.KCPCredentials.Validate()...)
	errs = append(errs, checkURL(flagValue{"--plc-url", o.PLCURL}, "https", "http")...)
	errs = append(errs, checkURL(flagValue{"--jetstream-url", o.Jetstream}, "wss", "ws", "https", "http")...)
	errs = append(errs, checkRate("--pds-request-rate", o.RequestRate, "0 for as many as the PDS allows")...)
	errs = append(errs, checkRate("--pds-look-rate", o.LookRate, "0 for never")...)
	if o.PollInterval < 0 {
		errs = append(errs, fmt.Errorf("--poll-interval %s: must not be negative: give a time like 5s, or 0 for the default", o.PollInterval))
	}
	return errs
}

// checkRate wants a number of times a second.
func checkRate(flag string, rate float64, zero string) []error {
	if rate >= 0 && !math.IsInf(rate, 0) {
		return nil
	}
	return []error{fmt.Errorf("%s %v: must be a number of times a second, not negative: give one, or %s", flag, rate, zero)}
}
