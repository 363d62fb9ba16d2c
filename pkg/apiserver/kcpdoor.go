package apiserver

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"

	"socialweb.computer/infra-apiserver/internal/kcp/door"
	"socialweb.computer/infra-apiserver/internal/metrics"
	"socialweb.computer/infra-apiserver/internal/repostore"
)

// kcpDoor lets kcp's shards in. kcp has authenticated and authorized what comes over
// a shard's certificate, and for the workspace in the path alone; so nothing else is
// open to it, and it is never a user's. nil: shut.
type kcpDoor struct {
	prefix      string   // of kcp's own paths, with /clusters/
	names       []string // patterns of common names
	authorities x509request.VerifyOptionFunc
}

// ownNames begin the common names of kcp's own certificates. One that isn't let in, of
// an authority that is trusted with shards, is nobody's.
const ownNames = "system:kcp:"

// caller is who a client certificate says.
type caller struct {
	cn    string // as the certificate has it, verified or not; "": there is none
	cert  bool   // there is one
	known bool   // an authority of shards stands behind it
	shard bool   // it is a shard's, and its name is let in
	fault error  // why no authority of shards stands behind it
	// masters: it says that whoever has it is of system:masters.
	masters bool
}

// cut takes the prefix of a door off an escaped path. atPrefix: it is kcp's own.
func (d *kcpDoor) cut(escaped string) (rest string, atPrefix, atDoor bool) {
	if d != nil && d.prefix != clustersPrefix {
		if rest, ok := strings.CutPrefix(escaped, d.prefix); ok {
			return rest, true, true
		}
	}
	rest, ok := strings.CutPrefix(escaped, clustersPrefix)
	return rest, false, ok
}

// identify looks at the certificate of the request's connection. It does so for each
// request: a connection may last longer than the certificate or its authority.
func (d *kcpDoor) identify(r *http.Request) caller {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return caller{}
	}
	leaf := r.TLS.PeerCertificates[0]
	c := caller{cn: leaf.Subject.CommonName, cert: true, masters: slices.Contains(leaf.Subject.Organization, user.SystemPrivilegedGroup)}
	if d == nil {
		return c
	}
	c.fault = d.verify(r.TLS.PeerCertificates)
	c.known = c.fault == nil
	c.shard = c.known && c.cn != "" && slices.ContainsFunc(d.names, func(pattern string) bool {
		ok, _ := path.Match(pattern, c.cn) // the patterns were checked
		return ok
	})
	return c
}

// verify wants an authority of shards behind the first certificate, as a client's. The
// others, which the client sent too, lead to the authority.
func (d *kcpDoor) verify(chain []*x509.Certificate) error {
	o, ok := d.authorities()
	if !ok {
		return errors.New("no authority is known")
	}
	o.Intermediates = x509.NewCertPool()
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(o)
	return err
}

// admit keeps shards to the doors, and others from kcp's own.
func (d *kcpDoor) admit(c caller, atPrefix, atDoor bool) *refusal {
	switch {
	case d == nil, c.shard && atDoor:
		return nil
	case c.shard:
		return refuse(metrics.DoorElsewhere, c, because(door.CauseElsewhere, forbidden("the certificate of a shard opens /clusters/<workspace>/apis/… alone")))
	case c.known && strings.HasPrefix(c.cn, ownNames):
		return refuse(metrics.DoorName, c, because(door.CauseName, forbidden("the name of the certificate is not one of the shards that are let in")))
	case !atPrefix:
		return nil
	case !c.cert:
		return refuse(metrics.DoorNoCertificate, c, because(door.CauseShardsOnly, apierrors.NewUnauthorized("this path is open to the certificates of shards alone")))
	default:
		return refuse(metrics.DoorCertificate, c, because(door.CauseShardsOnly, forbidden("this path is open to the certificates of shards alone")))
	}
}

// enter makes e the entry of a shard's request.
func (d *kcpDoor) enter(e *entry, c caller, r *http.Request) *refusal {
	if e.workspace == repostore.DefaultWorkspace {
		return refuse(metrics.DoorWorkspace, c, forbidden("the workspace is not one of kcp's"))
	}
	u, err := kcpUser(r, e.workspace, c.cn)
	if err != nil {
		return refuse(metrics.DoorIdentity, c, err)
	}
	e.shard, e.user = c.cn, u
	return nil
}

// ofShard tells whether a request came over a shard's certificate, and its workspace.
func ofShard(ctx context.Context) (workspace string, ok bool) {
	e := entryFrom(ctx)
	if e == nil || e.shard == "" {
		return "", false
	}
	return e.workspace, true
}
