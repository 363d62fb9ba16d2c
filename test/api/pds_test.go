package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/internal/testpds"
)

const (
	infraCollection     = "computer.socialweb.infra"
	ephemeralCollection = "computer.socialweb.ephemeralInfra"
)

// record is a record as JSON.
type record = map[string]any

// account is one account of a PDS, and a plain XRPC client straight to it.
type account struct {
	testpds.Account
	pds *testpds.Server

	mu    sync.Mutex
	token string
}

// xrpcAnswer is what the PDS said.
type xrpcAnswer struct {
	status int
	body   record
	raw    []byte
}

func (a xrpcAnswer) text(key string) string { s, _ := a.body[key].(string); return s }

// call is one XRPC call; a nil body is a query.
func (a *account) call(ctx context.Context, method string, query url.Values, body any) (xrpcAnswer, error) {
	r := testhttp.Request{Path: "/xrpc/" + method + "?" + query.Encode(), Body: body}
	if body != nil {
		r.Method = http.MethodPost
		a.mu.Lock()
		if a.token != "" {
			r.Header = testhttp.Headers("Authorization: Bearer " + a.token)
		}
		a.mu.Unlock()
	}
	got, err := testhttp.Client{HTTP: pdsClient, Server: a.pds.URL}.Do(ctx, r)
	if err != nil {
		return xrpcAnswer{}, err
	}
	out := xrpcAnswer{status: got.Status, raw: got.Body}
	_ = json.Unmarshal(out.raw, &out.body) // a CAR, or nothing
	return out, nil
}

var pdsClient = &http.Client{Timeout: time.Minute}

// must is call for tests: the answer must have status 200.
func (a *account) must(t testing.TB, method string, query url.Values, body any) xrpcAnswer {
	t.Helper()
	r, err := a.call(t.Context(), method, query, body)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	if r.status != http.StatusOK {
		t.Fatalf("%s: %d %s", method, r.status, r.raw)
	}
	return r
}

// login opens a session, once.
func (a *account) login(t testing.TB) {
	t.Helper()
	a.mu.Lock()
	open := a.token != ""
	a.mu.Unlock()
	if open {
		return
	}
	r := a.must(t, "com.atproto.server.createSession", nil, record{"identifier": a.DID, "password": a.Password})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.token = r.text("accessJwt")
	keepSecret(a.token, r.text("refreshJwt"))
}

// put writes an infra's record and returns its CID.
func (a *account) put(t testing.TB, rkey string, value record) string {
	t.Helper()
	return a.putIn(t, infraCollection, rkey, value)
}

func (a *account) putIn(t testing.TB, collection, rkey string, value record) string {
	t.Helper()
	return a.must(t, "com.atproto.repo.putRecord", nil,
		record{"repo": a.DID, "collection": collection, "rkey": rkey, "record": value, "validate": false}).text("cid")
}

// swap writes an infra's record if it is still cid; false: it isn't.
func (a *account) swap(ctx context.Context, rkey, cid string, value record) (bool, error) {
	r, err := a.call(ctx, "com.atproto.repo.putRecord", nil,
		record{"repo": a.DID, "collection": infraCollection, "rkey": rkey, "record": value, "swapRecord": cid})
	switch {
	case err != nil:
		return false, err
	case r.status == http.StatusOK:
		return true, nil
	case r.text("error") == "InvalidSwap":
		return false, nil
	}
	return false, fmt.Errorf("putRecord: %d %s", r.status, r.raw)
}

// remove deletes an infra's record.
func (a *account) remove(t testing.TB, rkey string) {
	t.Helper()
	a.must(t, "com.atproto.repo.deleteRecord", nil, record{"repo": a.DID, "collection": infraCollection, "rkey": rkey})
}

// get reads an infra's record; a nil value: there is none.
func (a *account) get(t testing.TB, rkey string) (value record, cid string) {
	t.Helper()
	r, err := a.read(t.Context(), infraCollection, rkey)
	if err != nil {
		t.Fatal(err)
	}
	value, _ = r.body["value"].(record)
	return value, r.text("cid")
}

// raw is the PDS's own bytes of an infra's record.
func (a *account) raw(t testing.TB, rkey string) string {
	t.Helper()
	r, err := a.read(t.Context(), infraCollection, rkey)
	if err != nil {
		t.Fatal(err)
	}
	return string(r.raw)
}

func (a *account) read(ctx context.Context, collection, rkey string) (xrpcAnswer, error) {
	r, err := a.call(ctx, "com.atproto.repo.getRecord", url.Values{"repo": {a.DID}, "collection": {collection}, "rkey": {rkey}}, nil)
	if err == nil && r.status != http.StatusOK && r.text("error") != "RecordNotFound" {
		err = fmt.Errorf("getRecord: %d %s", r.status, r.raw)
	}
	return r, err
}

// rev of the repository.
func (a *account) rev(t testing.TB) string {
	t.Helper()
	return a.must(t, "com.atproto.sync.getLatestCommit", url.Values{"did": {a.DID}}, nil).text("rev")
}

// infraRecord is a valid record with a description.
func infraRecord(description string) record {
	return record{"$type": infraCollection, "description": description, "contracts": []any{record{"name": "web", "state": "staged"}}}
}
