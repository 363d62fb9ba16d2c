package release

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// resources that workspaces have.
const (
	infras      = "infras"
	ephemerals  = "ephemeralinfras"
	collections = "infracollections"
	ephemeralCs = "ephemeralinfracollections"
	contracts   = "computecontracts"
	repos       = "atprotorepos"
)

// Resources are all, in the order of their columns.
var Resources = []string{infras, ephemerals, collections, ephemeralCs, contracts, repos}

// telling are those that say that their workspace is gone: the controller says it of
// deployments and ComputeContracts, the server of what leads to repositories, if it asks
// the kcp.
var telling = []string{infras, ephemerals, collections, ephemeralCs, contracts, repos}

// objects of a workspace by resource.
type objects map[string][]item

// read all objects of a workspace, as they are now: the AtprotoRepos tell which version
// that is, for etcd alone has them. A server that doesn't serve ComputeContracts has none.
func (s *Server) read(ctx context.Context, workspace string) (objects, error) {
	out := objects{}
	all, now, err := s.list(ctx, workspace, repos, "")
	if err != nil {
		return nil, err
	}
	out[repos] = all
	for _, r := range Resources {
		if r == repos {
			continue
		}
		all, _, err := s.list(ctx, workspace, r, now)
		if apierrors.IsNotFound(err) && r == contracts {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[r] = all
	}
	return out, nil
}

// each calls f for each object of the resources.
func (o objects) each(f func(resource string, i *item), of ...string) {
	for _, r := range of {
		for n := range o[r] {
			f(r, &o[r][n])
		}
	}
}

// count of the objects of resources.
func (o objects) count(of ...string) (n int) {
	for _, r := range of {
		n += len(o[r])
	}
	return n
}

// String counts by kind.
func (o objects) String() string {
	var parts []string
	for _, r := range Resources {
		if n := len(o[r]); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, r))
		}
	}
	if len(parts) == 0 {
		return "no objects"
	}
	return strings.Join(parts, ", ")
}

// title of an object, as kubectl names it.
func title(resource string, o *item) string { return strings.TrimSuffix(resource, "s") + "/" + o.Name }

// bound is what is said of the workspace; "": nothing.
func bound(o *item) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionWorkspaceBound); c != nil {
		return c.Status
	}
	return ""
}
