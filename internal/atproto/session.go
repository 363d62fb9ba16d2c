package atproto

import (
	"context"
	"io"
	"net/http"
)

// session is what createSession, refreshSession and getSession answer
// (com.atproto.server.*).
type session struct {
	DID        string `json:"did"`
	Handle     string `json:"handle"`
	AccessJwt  string `json:"accessJwt"`
	RefreshJwt string `json:"refreshJwt"`
}

// createSessionInput is the body of com.atproto.server.createSession.
type createSessionInput struct {
	Identifier string `json:"identifier"`
	Password   string `json:"password"`
}

// createSession logs in. It is not retried: logins are counted by the PDS.
func (r *rpc) createSession(ctx context.Context, did string, creds Credentials) (session, error) {
	var out session
	err := r.call(ctx, &call{
		method: "com.atproto.server.createSession", post: true, did: did, upkeep: true, secret: true,
		body: createSessionInput(creds), out: &out,
	})
	return out, err
}

// refreshSession exchanges a refresh token. The PDS accepts the old token for a
// while after the exchange, so a lost answer does no harm.
func (r *rpc) refreshSession(ctx context.Context, did, refreshJwt string) (session, error) {
	var out session
	err := r.call(ctx, &call{
		method: "com.atproto.server.refreshSession", post: true, did: did, upkeep: true, secret: true,
		header: http.Header{"Authorization": {"Bearer " + refreshJwt}}, out: &out,
	})
	return out, err
}

// deleteSession ends the session of a refresh token.
func (r *rpc) deleteSession(ctx context.Context, did, refreshJwt string) error {
	return r.call(ctx, &call{
		method: "com.atproto.server.deleteSession", post: true, did: did, upkeep: true, secret: true,
		header:  http.Header{"Authorization": {"Bearer " + refreshJwt}},
		consume: func(body io.Reader) error { _, err := io.Copy(io.Discard, body); return err },
	})
}
