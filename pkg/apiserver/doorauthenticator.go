package apiserver

import (
	"context"
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"socialweb.computer/infra-apiserver/internal/metrics"
)

// doorAuthenticator knows the users of shards' requests. Whoever else comes the inner
// authenticator has to know, and by a door it is noted if it doesn't.
//
// kcp makes shards, and some administrators, of system:masters, and --client-ca-file may
// name the authority that is trusted with shards too, as with kcp's operator. So a
// certificate of that authority makes nobody one of this server's masters.
type doorAuthenticator struct{ authenticator.Request }

// AuthenticateRequest implements authenticator.Request.
func (a doorAuthenticator) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	ctx := r.Context()
	e := entryFrom(ctx)
	if e != nil {
		e.annotate(ctx)
		if e.shard != "" {
			return &authenticator.Response{User: e.user}, true, nil
		}
	}
	resp, ok, err := a.Request.AuthenticateRequest(r)
	switch v, _ := ctx.Value(noMasters{}).(*visit); {
	case ok && err == nil && v != nil && slices.Contains(resp.User.GetGroups(), user.SystemPrivilegedGroup):
		v.refuse(ctx, metrics.DoorName, "because", "the authority of shards makes no masters; is it a shard, its name is to match "+flagShardNames)
		return nil, false, nil
	case e != nil && (err != nil || !ok):
		e.unauthenticated(ctx, err)
		return nil, false, nil // the log has the error
	}
	return resp, ok, err
}

type noMasters struct{}

// withoutMasters is the context of a request over a certificate of system:masters that an
// authority of shards stands behind, and that isn't a shard's.
func withoutMasters(ctx context.Context, v *visit) context.Context {
	return context.WithValue(ctx, noMasters{}, v)
}
