package atproto

import (
	"net/http"
	"time"
)

// idleTimeout is shorter than that of the servers and proxies that PDSes stand
// behind (60 s and more; the reference PDS 90 s). Else they close a connection at
// the moment at which a write is sent on it, and its outcome is unknown for
// nothing.
const idleTimeout = 45 * time.Second

// maxConns is how many connections a PDS host gets at once, for all accounts: after a
// start, and when an event stream is lost, thousands of repositories are asked for at
// the same time. It is more than the requests that one workspace may have under way.
const maxConns = 256

// NewTransport makes the HTTP transport for PDSes: connections are kept and
// reused, every phase is bounded, and, unless allowPrivate, private addresses
// are refused (NewDialer). It uses no proxy: behind one the address check would
// see the proxy's address alone.
func NewTransport(allowPrivate bool) *http.Transport {
	return &http.Transport{
		DialContext:            NewDialer(allowPrivate).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    32,
		MaxConnsPerHost:        maxConns,
		IdleConnTimeout:        idleTimeout,
		TLSHandshakeTimeout:    5 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// NewHTTPClient is an HTTP client over NewTransport that follows no redirect: a
// PDS has one base URL, and a redirected write could be sent twice or elsewhere.
// Timeouts are set for each call by its context.
func NewHTTPClient(allowPrivate bool) *http.Client {
	return &http.Client{Transport: NewTransport(allowPrivate), CheckRedirect: noRedirect}
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
