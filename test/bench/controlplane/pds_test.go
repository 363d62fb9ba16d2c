//go:build e2e

package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// pds makes raw calls, by the way that the server's take: through the harness's proxy.
type pds struct {
	client     *http.Client
	token, did string
	cid        string // of the record that put writes
}

func newPDS(b *testing.B) *pds {
	b.Helper()
	a := plane.PDS.Accounts[0]
	p := &pds{client: &http.Client{Timeout: time.Minute, Transport: http.DefaultTransport.(*http.Transport).Clone()}, did: a.DID}
	b.Cleanup(p.client.CloseIdleConnections)
	var session struct{ AccessJwt string }
	require.NoError(b, p.call(b.Context(), "com.atproto.server.createSession", map[string]any{"identifier": a.DID, "password": a.Password}, &session))
	p.token = session.AccessJwt
	return p
}

// call of a query, or with a body of a procedure.
func (p *pds) call(ctx context.Context, method string, in map[string]any, out any) error {
	r := testhttp.Request{Path: "/xrpc/" + method}
	if in != nil {
		r.Method, r.Body = http.MethodPost, in
	}
	if p.token != "" {
		r.Header = testhttp.Headers("Authorization: Bearer " + p.token)
	}
	a, err := testhttp.Client{HTTP: p.client, Server: plane.Proxy.URL()}.Do(ctx, r)
	if err == nil {
		err = a.Want(http.StatusOK)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return json.Unmarshal(a.Body, out)
}

// get is a raw getRecord.
func (p *pds) get(ctx context.Context, _ int) error {
	var out struct{}
	return p.call(ctx, fmt.Sprintf("com.atproto.repo.getRecord?repo=%s&collection=%s&rkey=%s", p.did, harness.InfraCollection, name(0)), nil, &out)
}

// put is a raw putRecord with its swap, of a record that nobody serves.
func (p *pds) put(ctx context.Context, i int) error {
	const collection = "computer.socialweb.bench"
	value := record(fmt.Sprintf("raw %d", i))
	value["$type"] = collection
	in := map[string]any{"repo": p.did, "collection": collection, "rkey": "raw", "record": value, "swapRecord": nil}
	if p.cid != "" {
		in["swapRecord"] = p.cid
	}
	var out struct{ CID string }
	err := p.call(ctx, "com.atproto.repo.putRecord", in, &out)
	p.cid = out.CID
	return err
}
