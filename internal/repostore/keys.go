package repostore

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// keyspace is where things lie in etcd, below one prefix:
//
//	views/<resource>/<workspace>/<name>              the objects (a cache of the repository, but for the private part)
//	uids/<resource>/<workspace>/<did>/<rkey>         identity: which object a record is
//	intents/<resource>/<workspace>/<name>            the open intent of an object's record
//	tombstones/<resource>/<workspace>/<name>/<nonce> dropped intents, for a day
//	detached/<resource>/<workspace>/<did>/<rkey>     records that were unbound or retained
//	fences/<workspace>/<did>                         the fence of a repository
//	horizons/<workspace>/<did>                       its horizon
//	closing/<workspace>/<name>/<uid>                 AtprotoRepos and collections that are being deleted
type keyspace struct{ prefix string }

func newKeyspace(prefix string) keyspace { return keyspace{path.Join("/", prefix)} }

func (k keyspace) views() string { return k.prefix + "/views" }

// object keys: ref.key begins with "/<resource>/".
func (k keyspace) view(ref objectRef) string   { return k.views() + ref.key }
func (k keyspace) intents() string             { return k.prefix + "/intents/" }
func (k keyspace) intent(ref objectRef) string { return k.prefix + "/intents" + ref.key }
func (k keyspace) tombstones(ref objectRef) string {
	return k.prefix + "/tombstones" + ref.key + "/"
}

// record keys: a DID holds no slash, and neither does an rkey.
func (k keyspace) uids(resource, ws, did string) string {
	return k.prefix + "/uids/" + resource + "/" + ws + "/" + did + "/"
}

func (k keyspace) uid(resource, ws, did, rkey string) string {
	return k.uids(resource, ws, did) + rkey
}

func (k keyspace) detached(resource, ws, did, rkey string) string {
	return k.prefix + "/detached/" + resource + "/" + ws + "/" + did + "/" + rkey
}

// tombstonesIn is the prefix of a workspace's dropped intents.
func (k keyspace) tombstonesIn(resourcePrefix, ws string) string {
	return k.prefix + "/tombstones" + makeRef(resourcePrefix, ws, "").key
}

func (k keyspace) fence(ws, did string) string   { return k.prefix + "/fences/" + ws + "/" + did }
func (k keyspace) horizon(ws, did string) string { return k.prefix + "/horizons/" + ws + "/" + did }

func (k keyspace) closing(ws, name string, uid types.UID) string {
	return k.prefix + "/closing/" + ws + "/" + name + "/" + string(uid)
}

// objectRef names an object of one resource: its workspace, its name and the
// storage key that both make.
type objectRef struct {
	workspace, name string
	key             string // "/<resource>/<workspace>/<name>"
}

// parseRef reads a storage key below resourcePrefix. A key with one segment has
// no workspace, and so no repository.
func parseRef(resourcePrefix, key string) objectRef {
	rest := strings.TrimPrefix(strings.TrimPrefix(key, resourcePrefix), "/")
	ws, name, found := strings.Cut(rest, "/")
	if !found {
		ws, name = "", rest
	}
	return objectRef{workspace: ws, name: name, key: key}
}

func makeRef(resourcePrefix, ws, name string) objectRef {
	return objectRef{workspace: ws, name: name, key: strings.TrimSuffix(resourcePrefix, "/") + "/" + ws + "/" + name}
}

// recordURI names a record: at://<did>/<collection>/<rkey>.
type recordURI struct {
	did string
	atproto.Key
}

func (u recordURI) String() string {
	if u.did == "" {
		return ""
	}
	return "at://" + u.did + "/" + u.Path()
}

// parseURI reads an AT URI of a record; ok is false for anything else.
func parseURI(s string) (u recordURI, ok bool) {
	rest, found := strings.CutPrefix(s, "at://")
	parts := strings.Split(rest, "/")
	if !found || len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return recordURI{}, false
	}
	return recordURI{parts[0], atproto.Key{Collection: parts[1], RKey: parts[2]}}, true
}
