package devpds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/klog/v2"
)

// Size limits of JSON bodies: of the calls that carry records, and of all others.
const (
	recordBodyLimit = 1_000_000
	otherBodyLimit  = 150 * 1024
)

// request is an XRPC call on its way to a handler.
type request struct {
	ctx    context.Context
	http   *http.Request
	w      http.ResponseWriter
	params url.Values
	// body is the decoded JSON of a procedure.
	body map[string]any
	// writes is the body of a call that writes records.
	writes *writeInput
	// auth is who calls, as the endpoint asked for it; nil: nobody.
	auth *credentials
}

// endpoint is one method of the PDS. Its steps run in the reference's order:
// parameters, authentication, body, rate limit, handler.
type endpoint struct {
	// procedure is POST, otherwise GET.
	procedure bool
	// input tells that a JSON body is expected; limit is its size, 0 is otherBodyLimit.
	input bool
	limit int64
	// parse checks the body further; nil: the handler does.
	parse func(*request) error
	// params names the required query parameters.
	params []string
	// auth finds the caller; nil: anybody.
	auth func(*Server, *http.Request) (*credentials, error)
	// charges of the limiters besides the general one; nil: none.
	charges func(*Server, *request) []charge
	// uncounted keeps the call out of the general limit.
	uncounted bool
	// handle answers: a value to encode as JSON, nil for an empty body, or
	// handled where it wrote the answer itself.
	handle func(*Server, *request) (any, error)
}

// handled is the answer of a handler that wrote to w.
type handled struct{}

// object is a JSON object.
type object = map[string]any

// Handler serves the PDS: /xrpc/…, and DID documents at /did:plc:….
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			http.Error(w, "closing", http.StatusServiceUnavailable)
			return
		}
		defer s.running.Done()
		w.Header().Set("Access-Control-Allow-Origin", "*")
		nsid, isXRPC := strings.CutPrefix(r.URL.Path, "/xrpc/")
		switch {
		case nsid == "_health":
			writeJSON(w, http.StatusOK, object{"version": "devpds"})
		case isXRPC:
			s.serveXRPC(w, r, strings.TrimSuffix(nsid, "/"))
		case strings.HasPrefix(r.URL.Path, "/did:") && r.Method == http.MethodGet:
			s.serveDIDDocument(w, r.URL.Path[1:])
		default:
			http.NotFound(w, r)
		}
	})
}

// serveXRPC answers one call.
func (s *Server) serveXRPC(w http.ResponseWriter, r *http.Request, nsid string) {
	out, err := s.call(w, r, nsid)
	if _, done := out.(handled); done && err == nil {
		return
	}
	if err != nil {
		var x *xrpcError
		if !errors.As(err, &x) {
			klog.FromContext(r.Context()).Error(err, "Embedded PDS failed", "method", nsid)
			x = internalError()
		}
		writeJSON(w, x.status, object{"error": x.name, "message": x.message})
		return
	}
	if out == nil {
		w.WriteHeader(http.StatusOK)
		return
	}
	writeJSON(w, http.StatusOK, out)
}

// call runs the steps of the endpoint.
func (s *Server) call(w http.ResponseWriter, r *http.Request, nsid string) (any, error) {
	if nsid == "com.atproto.sync.subscribeRepos" && isUpgrade(r) {
		return handled{}, s.subscribeRepos(w, r)
	}
	e, ok := endpoints[nsid]
	if !ok {
		if err := s.charge(w, r, nil, nil); err != nil {
			return nil, err
		}
		return nil, invalidRequest("No service configured for %s", nsid)
	}
	want := http.MethodGet
	if e.procedure {
		want = http.MethodPost
	}
	if r.Method != want && !(r.Method == http.MethodHead && !e.procedure) {
		return nil, invalidRequest("Incorrect HTTP method (%s) expected %s", r.Method, want)
	}
	req := &request{ctx: r.Context(), http: r, w: w, params: r.URL.Query()}
	if err := checkParams(nsid, e.params, req.params); err != nil {
		return nil, err
	}
	var err error
	if e.auth != nil {
		w.Header().Set("Cache-Control", "private")
		w.Header().Add("Vary", "Authorization")
		if req.auth, err = e.auth(s, r); err != nil {
			return nil, err
		}
	}
	if e.procedure {
		if err := req.readBody(e); err != nil {
			return nil, err
		}
		if e.parse != nil {
			if err := e.parse(req); err != nil {
				return nil, err
			}
		}
	}
	if err := s.charge(w, r, &e, req); err != nil {
		return nil, err
	}
	return e.handle(s, req)
}

// charge spends the request's points, where limits are on.
func (s *Server) charge(w http.ResponseWriter, r *http.Request, e *endpoint, req *request) error {
	if s.limits == nil {
		return nil
	}
	var charges []charge
	if e != nil && e.charges != nil {
		charges = e.charges(s, req)
	}
	if e == nil || !e.uncounted {
		charges = append(charges, charge{s.limits.perIP, clientIP(r), 1})
	}
	return spendAll(w, s.clock.Now(), charges)
}

// readBody reads and decodes the body.
func (req *request) readBody(e endpoint) error {
	r := req.http
	if !e.input {
		if r.ContentLength > 0 {
			return invalidRequest("A request body was provided when none was expected")
		}
		return nil
	}
	if r.ContentLength == 0 && r.Header.Get("Content-Length") == "" {
		return invalidRequest("A request body is expected but none was provided")
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return invalidRequest("Request encoding (Content-Type) required but not provided")
	}
	if kind != "application/json" {
		return invalidRequest("Wrong request encoding (Content-Type): %s", kind)
	}
	limit := or(e.limit, otherBodyLimit)
	if r.ContentLength > limit {
		return &xrpcError{http.StatusRequestEntityTooLarge, "PayloadTooLargeError", "request entity too large"}
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return badRequest("BadRequestError", "request aborted")
	}
	if int64(len(data)) > limit {
		return &xrpcError{http.StatusRequestEntityTooLarge, "PayloadTooLargeError", "request entity too large"}
	}
	v, err := parseJSON(data)
	if err != nil {
		return badRequest("SyntaxError", "%v", err)
	}
	body, ok := v.(map[string]any)
	if !ok {
		return invalidRequest("Expected object value type at $")
	}
	req.body = body
	return nil
}

// checkParams wants the required parameters.
func checkParams(nsid string, names []string, q url.Values) error {
	for _, name := range names {
		if !q.Has(name) {
			return invalidRequest("Invalid %s params: Missing required key %q", nsid, name)
		}
	}
	return nil
}

// clientIP is the peer's address.
func clientIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// writeJSON answers with a JSON body.
func writeJSON(w http.ResponseWriter, status int, v any) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		klog.ErrorS(err, "Embedded PDS could not encode an answer")
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))) // the client is gone otherwise
}
