package atproto

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bluesky-social/indigo/atproto/syntax"
	"k8s.io/utils/clock"
)

// Defaults of Config.
const (
	// DefaultTimeout bounds one XRPC call, retries not included.
	DefaultTimeout = 10 * time.Second
	// DefaultExportTimeout bounds one download of a whole repository.
	DefaultExportTimeout = 2 * time.Minute
	// DefaultReadAttempts is how often a read is tried before it is given up.
	DefaultReadAttempts = 3
	// DefaultMaxExportBytes bounds a repository export.
	DefaultMaxExportBytes = 512 << 20
	// maxAnswerBytes bounds every answer but an export. A page of 100 records of
	// at most 1 MB each is the largest honest one.
	maxAnswerBytes = 128 << 20
)

// Config of a Client. PDS and DID are required; every other zero value is useful.
type Config struct {
	// PDS is the base URL of the account's PDS, "https://pds.example".
	PDS string
	// DID of the account.
	DID string
	// Auth signs writes; nil makes a client that can only read. See
	// NewPasswordAuth.
	Auth Auth
	// HTTP sends the requests. nil: a client of its own over NewTransport, which
	// refuses private addresses.
	HTTP *http.Client
	// Keys finds the account's signing key. nil: the DID document, cached.
	Keys KeyResolver
	// PLCURL is the did:plc directory for the default Keys; "": https://plc.directory.
	PLCURL string
	// Budget limits the requests to this host. nil: only what the PDS itself
	// says is honoured, for this client alone. Take it from a Budgets registry so
	// that clients of one host share it.
	Budget *Budget
	// Tenant for whom the account is used, a workspace: all accounts of one together
	// take turns of the Budget with the other tenants. "": nobody in particular, and
	// the account takes turns of its own.
	Tenant string
	// Clock for backoff, pauses and cached keys; nil: the real one.
	Clock clock.WithTicker
	// Timeout of one call; 0: DefaultTimeout. It is measured on the real clock.
	Timeout time.Duration
	// ExportTimeout of one export; 0: DefaultExportTimeout.
	ExportTimeout time.Duration
	// ReadAttempts of a read that fails at once; 0: DefaultReadAttempts.
	ReadAttempts int
	// MaxExportBytes bounds an export; 0: DefaultMaxExportBytes.
	MaxExportBytes int64
	// UserAgent of the requests; "": "infra-apiserver".
	UserAgent string
	// Observe, if set, is told of every request that was sent: the method's NSID,
	// the HTTP status (0: no answer) and how long the answer's head took. It must
	// return at once.
	Observe func(method string, status int, took time.Duration)
}

// complete checks the configuration and fills in the defaults.
func (c Config) complete() (Config, error) {
	host, err := NormalizeHost(c.PDS)
	if err != nil {
		return c, err
	}
	c.PDS = host
	if _, err := syntax.ParseDID(c.DID); err != nil {
		return c, fmt.Errorf("account: %w", err)
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.HTTP == nil {
		c.HTTP = NewHTTPClient(false)
	}
	if c.Budget == nil {
		c.Budget = NewBudget(host, BudgetOptions{Clock: c.Clock})
	}
	if c.Keys == nil {
		c.Keys = NewKeys(&DIDResolver{PLCURL: c.PLCURL, HTTP: c.HTTP}, c.Clock)
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.ExportTimeout <= 0 {
		c.ExportTimeout = DefaultExportTimeout
	}
	if c.ReadAttempts <= 0 {
		c.ReadAttempts = DefaultReadAttempts
	}
	if c.MaxExportBytes <= 0 {
		c.MaxExportBytes = DefaultMaxExportBytes
	}
	if c.UserAgent == "" {
		c.UserAgent = defaultUserAgent
	}
	return c, nil
}

// defaultUserAgent names us to the PDS.
const defaultUserAgent = "infra-apiserver"

// NormalizeHost checks a PDS URL and brings it to the form that budgets, event
// sources and messages use as a key: scheme and host in lower case, no path.
func NormalizeHost(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", fmt.Errorf("PDS URL: %w", err)
	}
	if (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		return "", fmt.Errorf("PDS URL %q: want http(s)://host", raw)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return "", fmt.Errorf("PDS URL %q: want scheme and host only", u.Redacted())
	}
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host), nil
}
