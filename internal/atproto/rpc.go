package atproto

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/bluesky-social/indigo/atproto/atclient"
	"github.com/bluesky-social/indigo/atproto/syntax"
	"go.opentelemetry.io/otel/attribute"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/metrics"
)

// rpc sends XRPC calls to one host. It knows nothing of records: budget,
// credentials, timeouts, retries and the meaning of failures are its business.
type rpc struct {
	host      string
	tenant    string
	http      *http.Client
	budget    *Budget
	clock     clock.WithTicker
	timeout   time.Duration
	attempts  int
	userAgent string
	observe   func(method string, status int, took time.Duration)
}

func newRPC(cfg Config) *rpc {
	// Whatever client was given: a redirected write could be applied twice.
	h := *cfg.HTTP
	h.CheckRedirect = noRedirect
	return &rpc{
		host: cfg.PDS, tenant: cfg.Tenant, http: &h, budget: cfg.Budget, clock: cfg.Clock,
		timeout: cfg.Timeout, attempts: cfg.ReadAttempts, userAgent: cfg.UserAgent,
		observe: cfg.Observe,
	}
}

// call is one XRPC call.
type call struct {
	method syntax.NSID
	params url.Values
	// post makes it a procedure with body as JSON; else it is a query.
	post bool
	body any
	// write marks a procedure that changes the repository of did: a lost answer
	// is ErrUnknownOutcome then.
	write bool
	// did is the account whose call it is, and tenant who uses it: turns go round
	// among these. upkeep: other calls of the account depend on this one.
	did, tenant string
	upkeep      bool
	// auth signs the call; nil: it is anonymous.
	auth Auth
	// header is set last, over everything else.
	header http.Header
	// secret keeps the PDS's message out of errors: it might quote the request.
	secret bool
	// out takes a JSON answer; consume takes a stream instead, and its error is
	// the call's. Exactly one is set.
	out     any
	consume func(io.Reader) error
	// timeout and limit of the answer; 0: the defaults.
	timeout time.Duration
	limit   int64
}

// call does c, and repeats a query that failed without having been answered.
func (r *rpc) call(ctx context.Context, c *call) error {
	c.tenant = r.tenant
	body, err := encode(c.body)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", c.method, ErrInvalidRecord, err)
	}
	for attempt := 1; ; attempt++ {
		err := r.authorized(ctx, c, body)
		var again *transient
		if err == nil || c.post || attempt >= r.attempts || !errors.As(err, &again) {
			return err
		}
		if sleep(ctx, r.clock, readBackoff(attempt)) != nil {
			return err
		}
	}
}

// encode makes a request's body; nil stays nil. It doesn't escape <, > and & as
// Go does for HTML: a script in a record would be three times as large as the
// PDS's limit counts it.
func encode(v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// authorized does c once, and once more with fresh credentials if the PDS
// refused the first ones. A refused call was not applied, so that is safe for
// writes too.
func (r *rpc) authorized(ctx context.Context, c *call, body []byte) error {
	for renewed := false; ; renewed = true {
		gen, err := r.once(ctx, c, body)
		if err == nil || c.auth == nil || renewed || !renewable(err) {
			return err
		}
		if err := c.auth.Renew(ctx, gen); err != nil {
			return err
		}
	}
}

// once sends c and interprets what comes back.
func (r *rpc) once(ctx context.Context, c *call, body []byte) (generation uint64, err error) {
	if err := r.budget.acquire(ctx, c); err != nil {
		return 0, fmt.Errorf("%s: %w", c.method, err)
	}
	timeout := c.timeout
	if timeout <= 0 {
		timeout = r.timeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ctx, span := r.span(ctx, c)
	defer func() { span.End(Kind(err)) }()

	// Before the headers are written no part of the body can have been, and a
	// write without its body can't have been applied.
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
	req, err := r.request(httptrace.WithClientTrace(ctx, trace), c, body)
	if err != nil {
		return 0, err
	}
	if c.auth != nil {
		if generation, err = c.auth.Authorize(ctx, req); err != nil {
			return 0, err
		}
	}
	for k := range c.header {
		req.Header.Set(k, c.header.Get(k))
	}
	resp, err := r.send(c, req)
	if err != nil {
		return generation, r.transportError(ctx, c, sent.Load(), err)
	}
	defer func() { _ = resp.Body.Close() }()
	span.Set(attribute.Int("http.response.status_code", resp.StatusCode))
	r.budget.observe(c, resp.StatusCode, resp.Header)
	return generation, r.answer(ctx, c, resp)
}

// send does the round trip.
func (r *rpc) send(c *call, req *http.Request) (*http.Response, error) {
	begin := r.clock.Now()
	resp, err := r.http.Do(req)
	status, took := 0, r.clock.Since(begin)
	if err == nil {
		status = resp.StatusCode
	}
	metrics.PDSRequest(c.method.String(), status, took)
	if r.observe != nil {
		r.observe(c.method.String(), status, took)
	}
	return resp, err
}

func (r *rpc) request(ctx context.Context, c *call, body []byte) (*http.Request, error) {
	ar := atclient.APIRequest{Method: http.MethodGet, Endpoint: c.method, QueryParams: c.params}
	if c.post {
		ar.Method = http.MethodPost
	}
	headers := http.Header{"User-Agent": {r.userAgent}, "Accept": {"application/json"}}
	if c.consume != nil {
		headers.Set("Accept", "application/vnd.ipld.car")
	}
	if body != nil {
		ar.Body = bytes.NewReader(body)
		headers.Set("Content-Type", "application/json")
	}
	req, err := ar.HTTPRequest(ctx, r.host, headers)
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w: %w", c.method, r.host, ErrUnavailable, err)
	}
	return req, nil
}

// answer reads what the PDS sent.
func (r *rpc) answer(ctx context.Context, c *call, resp *http.Response) error {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return r.refused(c, resp)
	}
	limit := c.limit
	if limit <= 0 {
		limit = maxAnswerBytes
	}
	body := &limitedReader{r: resp.Body, left: limit}
	if c.consume != nil {
		err := c.consume(body)
		if body.failed != nil {
			return r.transportError(ctx, c, true, body.failed)
		}
		if err != nil {
			return fmt.Errorf("%s at %s: %w", c.method, r.host, err)
		}
		return nil
	}
	b, err := io.ReadAll(body)
	switch {
	case body.failed != nil:
		return r.transportError(ctx, c, true, body.failed)
	case err == nil:
		err = json.Unmarshal(b, c.out)
	}
	if err == nil {
		return nil
	}
	if c.write {
		return fmt.Errorf("%s at %s: %w: %w: %w", c.method, r.host, ErrUnknownOutcome, ErrBadData, err)
	}
	return fmt.Errorf("%s at %s: %w: %w", c.method, r.host, ErrBadData, err)
}

// refused turns an error answer into an error.
func (r *rpc) refused(c *call, resp *http.Response) error {
	var eb atclient.ErrorBody
	// A body that can't be read or is no XRPC error leaves the status alone to
	// speak.
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	_ = json.Unmarshal(b, &eb)
	if c.secret {
		eb.Message = ""
	}
	xe := &XRPCError{Method: c.method.String(), Host: r.host, Status: resp.StatusCode, Name: clip(eb.Name), Message: clip(eb.Message)}
	xe.kind = classify(xe, c.write, resp.Header, r.clock.Now())
	if resp.StatusCode >= 500 && !c.post {
		return &transient{xe}
	}
	return xe
}

// transportError is for calls that got no complete answer.
func (r *rpc) transportError(ctx context.Context, c *call, sent bool, err error) error {
	sentinel := ErrUnavailable
	if c.write && sent {
		sentinel = ErrUnknownOutcome
	}
	wrapped := fmt.Errorf("%s at %s: %w: %w", c.method, r.host, sentinel, err)
	// A call that used up its time is not repeated: the caller waited enough.
	if c.post || ctx.Err() != nil || errors.Is(err, ErrAddressRefused) {
		return wrapped
	}
	return &transient{wrapped}
}

// transient marks a failed query that may be tried again.
type transient struct{ error }

// Unwrap gives the error itself.
func (t *transient) Unwrap() error { return t.error }
