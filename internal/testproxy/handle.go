package testproxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const stream = "com.atproto.sync.subscribeRepos"

// handle answers one request.
func (p *Proxy) handle(w http.ResponseWriter, r *http.Request) {
	method := strings.TrimPrefix(r.URL.Path, "/xrpc/")
	f, changed := p.take(method, r.Header)
	defer p.end(method)
	if f.Before != nil {
		f.Before()
	}
	if method == stream {
		p.stream(w, r)
		return
	}
	switch f.Kind {
	case Refused:
		hangUp(w)
	case Hung:
		_, _ = io.Copy(io.Discard, r.Body) // else the server can't see that the client left
		select {
		case <-r.Context().Done():
		case <-changed:
		}
		hangUp(w)
	case Slow:
		if pause(r.Context(), f.Delay) {
			p.forward(w, r, pass)
		}
	case Status500:
		refuse(w, http.StatusInternalServerError, "InternalServerError", "Internal Server Error")
	case Status429:
		limited(w, f)
	case NotFound:
		http.NotFound(w, r)
	case Garbage:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>It works!</html>")
	case Truncated:
		p.forward(w, r, truncate)
	case LostAnswer:
		p.forward(w, r, func(w http.ResponseWriter, _ *http.Response, _ []byte) { hangUp(w) })
	case WrongCID:
		p.forward(w, r, changing(wrongCID))
	case AlteredRecord:
		p.forward(w, r, changing(altered))
	case NoSwap:
		if withoutSwap(r) != nil {
			hangUp(w)
			return
		}
		p.forward(w, r, pass)
	case Revoked:
		refuse(w, http.StatusBadRequest, "ExpiredToken", "Token has been revoked")
	case LockedOut:
		p.lockedOut(w, r, method)
	default:
		p.forward(w, r, p.passSession(method))
	}
}

// passSession passes an answer on, and takes the tokens of a session that it
// opens from the revoked ones: a PDS that makes its tokens from the time gives
// the same ones twice within a second.
func (p *Proxy) passSession(method string) responder {
	if method != "com.atproto.server.createSession" {
		return pass
	}
	return func(w http.ResponseWriter, resp *http.Response, body []byte) {
		var s struct{ AccessJwt, RefreshJwt string }
		if resp.StatusCode == http.StatusOK && json.Unmarshal(body, &s) == nil {
			p.mu.Lock()
			p.tokens["Bearer "+s.AccessJwt], p.tokens["Bearer "+s.RefreshJwt] = false, false
			p.mu.Unlock()
		}
		pass(w, resp, body)
	}
}

// lockedOut refuses every credential.
func (p *Proxy) lockedOut(w http.ResponseWriter, r *http.Request, method string) {
	switch {
	case method == "com.atproto.server.createSession":
		refuse(w, http.StatusUnauthorized, "AuthenticationRequired", "Invalid identifier or password")
	case r.Header.Get("Authorization") != "":
		refuse(w, http.StatusBadRequest, "ExpiredToken", "Token has been revoked")
	default:
		p.forward(w, r, pass)
	}
}

// responder gives the client what came from the PDS, or something else.
type responder func(w http.ResponseWriter, resp *http.Response, body []byte)

// forward asks the PDS and lets respond answer.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, respond responder) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		hangUp(w)
		return
	}
	u := *r.URL
	u.Scheme, u.Host = p.target.Scheme, p.target.Host
	req, err := http.NewRequestWithContext(r.Context(), r.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		hangUp(w)
		return
	}
	req.Header = r.Header.Clone()
	resp, err := p.client.Do(req)
	if err != nil { // the PDS is gone: so is the connection
		hangUp(w)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		hangUp(w)
		return
	}
	respond(w, resp, answer)
}

// pass is the honest responder.
func pass(w http.ResponseWriter, resp *http.Response, body []byte) {
	copyHeader(w, resp)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(body) // a client that left is no fault of ours
}

// truncate promises the whole body and sends half of it.
func truncate(w http.ResponseWriter, resp *http.Response, body []byte) {
	copyHeader(w, resp)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(body[:len(body)/2])
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	panic(http.ErrAbortHandler) // closes the connection without the rest
}

// changing passes successful answers on after change changed their body.
func changing(change func(contentType string, body []byte) []byte) responder {
	return func(w http.ResponseWriter, resp *http.Response, body []byte) {
		if resp.StatusCode == http.StatusOK {
			body = change(resp.Header.Get("Content-Type"), body)
		}
		pass(w, resp, body)
	}
}

func copyHeader(w http.ResponseWriter, resp *http.Response) {
	for k, v := range resp.Header {
		if k != "Content-Length" && k != "Transfer-Encoding" && k != "Connection" {
			w.Header()[k] = v
		}
	}
}

// hangUp resets the connection without an answer.
func hangUp(w http.ResponseWriter) {
	h, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	c, _, err := h.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	reset(c)
}

// refuse answers an XRPC error.
func refuse(w http.ResponseWriter, status int, name, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"error":"`+name+`","message":"`+message+`"}`)
}

// limited answers as the reference PDS does to one request too many.
func limited(w http.ResponseWriter, f Fault) {
	after := f.Reset
	if after == 0 {
		after = time.Minute
	}
	h := w.Header()
	h.Set("RateLimit-Limit", "3000")
	h.Set("RateLimit-Remaining", "0")
	h.Set("RateLimit-Policy", "3000;w=300")
	h.Set("RateLimit-Reset", strconv.FormatInt(time.Now().Add(after).Unix(), 10))
	h.Set("Retry-After", strconv.FormatInt(int64((after+time.Second-1)/time.Second), 10))
	refuse(w, http.StatusTooManyRequests, "RateLimitExceeded", "Rate Limit Exceeded")
}
