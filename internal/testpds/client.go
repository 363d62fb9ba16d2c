package testpds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Client is an account of a PDS with a plain client: it knows XRPC and nothing of the
// server, and goes past every proxy. Its session opens at the first call that needs one.
type Client struct {
	Account
	pds string // its base URL

	mu    sync.Mutex // guards token
	token string     // of its session
}

// Clients are those of all accounts, by the first label of their handles.
func (s *Server) Clients() map[string]*Client {
	out := map[string]*Client{}
	for _, a := range s.Accounts {
		name, _, _ := strings.Cut(a.Handle, ".")
		out[name] = &Client{Account: a, pds: s.URL}
	}
	return out
}

// XRPCError is what the PDS answers when it refuses.
type XRPCError struct {
	// Method that was called, and the HTTP status of the answer.
	Method string
	Status int
	// Name and Message of the error.
	Name    string `json:"error"`
	Message string `json:"message"`
}

// Error implements error.
func (e *XRPCError) Error() string {
	return fmt.Sprintf("%s: %d %s: %s", e.Method, e.Status, e.Name, e.Message)
}

// isXRPC says whether the PDS refused with an error of a name.
func isXRPC(err error, name string) bool {
	var refused *XRPCError
	return errors.As(err, &refused) && refused.Name == name
}

// Record is a record as the PDS tells it.
type Record struct {
	// URI and CID of the record.
	URI, CID string
	// Value as JSON has it.
	Value map[string]any
}

// Get reads a record; nil: there is none.
func (a *Client) Get(ctx context.Context, collection, rkey string) (*Record, error) {
	var out Record
	err := a.Query(ctx, "com.atproto.repo.getRecord", url.Values{"repo": {a.DID}, "collection": {collection}, "rkey": {rkey}}, &out)
	if isXRPC(err, "RecordNotFound") {
		return nil, nil //nolint:nilnil // that is the answer
	}
	return &out, err
}

// URI of a record of the account's.
func (a *Client) URI(collection, rkey string) string {
	return "at://" + a.DID + "/" + collection + "/" + rkey
}

// Collections that the repository has.
func (a *Client) Collections(ctx context.Context) ([]string, error) {
	var out struct{ Collections []string }
	err := a.Query(ctx, "com.atproto.repo.describeRepo", url.Values{"repo": {a.DID}}, &out)
	return out.Collections, err
}

// Put writes a record, whatever was there, and returns its CID.
func (a *Client) Put(t testing.TB, collection, rkey string, value map[string]any) string {
	t.Helper()
	cid, err := a.put(t.Context(), collection, rkey, value, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cid
}

// Edit changes a record as it stands, and returns its new CID. When somebody else
// writes it meanwhile, the change is made of what is there then.
func (a *Client) Edit(ctx context.Context, collection, rkey string, change func(value map[string]any)) (cid string, err error) {
	for {
		r, err := a.Get(ctx, collection, rkey)
		if err != nil {
			return "", err
		}
		if r == nil {
			return "", fmt.Errorf("no record %s", a.URI(collection, rkey))
		}
		change(r.Value)
		cid, err := a.put(ctx, collection, rkey, r.Value, &r.CID)
		if !isXRPC(err, "InvalidSwap") {
			return cid, err
		}
	}
}

func (a *Client) put(ctx context.Context, collection, rkey string, value map[string]any, swap *string) (string, error) {
	value["$type"] = collection
	in := map[string]any{"repo": a.DID, "collection": collection, "rkey": rkey, "record": value, "validate": false}
	if swap != nil {
		in["swapRecord"] = *swap
	}
	var out struct{ CID string }
	err := a.Procedure(ctx, "com.atproto.repo.putRecord", in, &out)
	return out.CID, err
}

// Delete deletes a record.
func (a *Client) Delete(t testing.TB, collection, rkey string) {
	t.Helper()
	in := map[string]any{"repo": a.DID, "collection": collection, "rkey": rkey}
	if err := a.Procedure(t.Context(), "com.atproto.repo.deleteRecord", in, nil); err != nil {
		t.Fatal(err)
	}
}

// Rev of the repository.
func (a *Client) Rev(ctx context.Context) (string, error) {
	var out struct{ Rev string }
	err := a.Query(ctx, "com.atproto.sync.getLatestCommit", url.Values{"did": {a.DID}}, &out)
	return out.Rev, err
}

// Query calls a method that only reads.
func (a *Client) Query(ctx context.Context, method string, params url.Values, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.pds+"/xrpc/"+method+"?"+params.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	return xrpc(req, method, out)
}

// Procedure calls a method with the account's session; a nil out: its answer doesn't
// matter.
func (a *Client) Procedure(ctx context.Context, method string, in, out any) error {
	token, err := a.session(ctx)
	if err != nil {
		return err
	}
	return procedure(ctx, a.pds, method, token, in, out)
}

func (a *Client) session(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token != "" {
		return a.token, nil
	}
	var out struct{ AccessJwt string }
	err := procedure(ctx, a.pds, "com.atproto.server.createSession", "", map[string]any{"identifier": a.DID, "password": a.Password}, &out)
	a.token = out.AccessJwt
	return a.token, err
}

func procedure(ctx context.Context, pds, method, token string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, pds+"/xrpc/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return xrpc(req, method, out)
}

func xrpc(req *http.Request, method string, out any) error {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		refused := &XRPCError{Method: method, Status: resp.StatusCode}
		if json.Unmarshal(said, refused) != nil {
			refused.Message = string(said)
		}
		return refused
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(said, out)
}
