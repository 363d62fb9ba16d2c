// Package testhttp sends plain HTTP requests to an API server, and reads its watches, in
// tests. What it sends is sent once: unlike client-go's clients it neither waits for its
// turn nor tries again, and shows every answer as it came.
package testhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// JSON is the content type of objects, and of every body that says no other.
const JSON = "application/json"

// Client sends requests to one server.
type Client struct {
	// HTTP sends them.
	HTTP *http.Client
	// Server is what every path follows: https://HOST:PORT, perhaps with a path.
	Server string
	// Verbatim sends paths as they are written: no library parses or cleans them.
	Verbatim bool
	// Edit, where set, has the last word about a request before it is sent.
	Edit func(*http.Request)
}

// Request is one request.
type Request struct {
	// Method; "": GET.
	Method string
	// Path, escaped, with its query.
	Path string
	// Accept is the header of that name; "": Header's, or none.
	Accept string
	// Kind is the content type of the body; "": Header's, or JSON. Without a body only
	// Header can give one.
	Kind string
	// Body is sent as it is where it is a string or bytes, and else as JSON; nil, or nil
	// bytes: none.
	Body any
	// Header has more headers.
	Header http.Header
}

// String is the request as a person would name it.
func (r Request) String() string { return r.method() + " " + r.Path }

func (r Request) method() string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

// body of the request; nil: it has none.
func (r Request) body() (io.Reader, error) {
	switch b := r.Body.(type) {
	case nil:
		return nil, nil //nolint:nilnil // none
	case string:
		return strings.NewReader(b), nil
	case []byte:
		if b == nil {
			return nil, nil //nolint:nilnil // none
		}
		return bytes.NewReader(b), nil
	}
	b, err := json.Marshal(r.Body)
	return bytes.NewReader(b), err
}

// Headers are headers that are written as "Name: value", each added to those before.
func Headers(lines ...string) http.Header {
	out := http.Header{}
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ": ")
		out.Add(name, value)
	}
	return out
}

// Open sends a request and returns the answer with its body unread. The caller closes it.
func (c Client) Open(ctx context.Context, r Request) (*http.Response, error) {
	body, err := r.body()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	target := c.Server
	if !c.Verbatim {
		target += r.Path
	}
	req, err := http.NewRequestWithContext(ctx, r.method(), target, body)
	if err != nil {
		return nil, err
	}
	if c.Verbatim {
		path, query, _ := strings.Cut(r.Path, "?")
		req.URL = &url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Opaque: path, RawQuery: query}
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	if r.Accept != "" {
		req.Header.Set("Accept", r.Accept)
	}
	if body != nil {
		switch _, given := req.Header["Content-Type"]; {
		case r.Kind != "":
			req.Header.Set("Content-Type", r.Kind)
		case !given:
			req.Header.Set("Content-Type", JSON)
		}
	}
	if c.Edit != nil {
		c.Edit(req)
	}
	return c.HTTP.Do(req)
}

// Do sends a request and reads the answer to its end. An error is the transport's: an
// answer that refuses is none, see Answer.Want.
func (c Client) Do(ctx context.Context, r Request) (Answer, error) {
	resp, err := c.Open(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	return Read(resp)
}

// Get asks for a URL.
func Get(ctx context.Context, client *http.Client, url string) (Answer, error) {
	return Client{HTTP: client, Server: url}.Do(ctx, Request{})
}

// GetOK asks for a URL that has to be answered with 200, and returns the body.
func GetOK(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	a, err := Get(ctx, client, url)
	if err == nil {
		err = a.Want(http.StatusOK)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", url, err)
	}
	return a.Body, err
}
