package apiserver

import (
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	// workspaceUsers begins the names of users that stand for workspaces.
	workspaceUsers = "system:kcp:workspace:"
	// extraShard and extraCluster of a user tell where the request came from.
	extraShard, extraCluster = "kcp.io/shard", "kcp.io/cluster"
	// systemNames begin the names of users and groups that Kubernetes, and so the
	// cluster that this server belongs to, gives a meaning.
	systemNames = "system:"
)

// remoteHeaders are what a shard names the user with.
var remoteHeaders = headerrequest.NewDynamic(
	headerrequest.StaticStringSlice{"X-Remote-User"}, headerrequest.StaticStringSlice{"X-Remote-Uid"},
	headerrequest.StaticStringSlice{"X-Remote-Group"}, headerrequest.StaticStringSlice{"X-Remote-Extra-"},
)

// kcpUser is who a shard's request is of: the user that it names, or the workspace. No
// such user has power here by its name or groups: of those that Kubernetes gives a
// meaning none gets through as it is.
func kcpUser(r *http.Request, ws, shard string) (user.Info, error) {
	for _, h := range []string{"X-Remote-User", "X-Remote-Uid"} {
		if len(r.Header[h]) > 1 {
			return nil, apierrors.NewBadRequest("the request names several users")
		}
	}
	u := &user.DefaultInfo{Name: workspaceUsers + ws}
	if named, ok := remoteUser(r); ok {
		u = &user.DefaultInfo{Name: named.GetName(), UID: named.GetUID(), Groups: named.GetGroups(), Extra: named.GetExtra()}
		if strings.HasPrefix(u.Name, systemNames) && u.Name != user.Anonymous {
			u.Name = workspaceUsers + ws + ":" + u.Name
		}
	}
	u.Groups = slices.DeleteFunc(slices.Clone(u.Groups), func(g string) bool {
		return strings.HasPrefix(g, systemNames) && !strings.HasPrefix(g, ownNames) && g != user.AllUnauthenticated
	})
	if u.Name != user.Anonymous && !slices.Contains(u.Groups, user.AllUnauthenticated) {
		u.Groups = append(u.Groups, user.AllAuthenticated)
	}
	if u.Extra == nil {
		u.Extra = map[string][]string{}
	}
	u.Extra[extraShard], u.Extra[extraCluster] = []string{shard}, []string{ws}
	return u, nil
}

// remoteUser reads the user from a copy of the headers, which reading removes.
func remoteUser(r *http.Request) (user.Info, bool) {
	resp, ok, err := remoteHeaders.AuthenticateRequest(&http.Request{Header: r.Header.Clone()})
	if err != nil || !ok {
		return nil, false
	}
	return resp.User, true
}

// removeIdentity removes what could name a user to anybody behind the door, in all the
// ways of writing that somebody might take for the same name.
func removeIdentity(h http.Header) {
	for name := range h {
		n := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		if n == "authorization" || strings.HasPrefix(n, "x-remote-") {
			delete(h, name)
		}
	}
}
