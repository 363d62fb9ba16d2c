package export

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
)

// pageSize is how many APIBindings are asked for at once. One is a few KiB.
const pageSize = 250

// AllWorkspaces is the workspace that shows all that are on a shard.
const AllWorkspaces = "*"

// BindingsIn lists the APIBindings of the export which a virtual workspace shows in one
// workspace, or in AllWorkspaces. kcp refuses (403) a single workspace that has none. It
// is the whole list or an error.
func (c *Client) BindingsIn(ctx context.Context, view, workspace string) ([]apisv1alpha2.APIBinding, error) {
	at := view + "/clusters/" + workspace + "/apis/" + apisv1alpha2.SchemeGroupVersion.String() + "/apibindings"
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	provider := c.Provider(view)
	var out []apisv1alpha2.APIBinding
	for {
		var page apisv1alpha2.APIBindingList
		if err := c.Get(ctx, at+"?"+query.Encode(), &page); err != nil {
			return nil, fmt.Errorf("APIBindings of the APIExport %s: %w", c.export, err)
		}
		if page.Kind != "APIBindingList" {
			return nil, fmt.Errorf("APIBindings of the APIExport %s: kcp answered with a %q", c.export, page.Kind)
		}
		for i := range page.Items {
			if c.binds(&page.Items[i], provider) {
				out = append(out, page.Items[i])
			}
		}
		if page.Continue == "" {
			return out, nil
		}
		query.Set("continue", page.Continue)
	}
}

// binds tells whether an APIBinding is of the export. An export that claims apibindings
// is shown those of others too.
func (c *Client) binds(b *apisv1alpha2.APIBinding, provider string) bool {
	ref := b.Spec.Reference.Export
	if ref == nil || ref.Name != c.export {
		return false
	}
	return provider == "" || b.Status.APIExportClusterName == "" || b.Status.APIExportClusterName == provider
}
