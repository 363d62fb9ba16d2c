package export

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Slice is what the APIExportEndpointSlice named like the export tells.
type Slice struct {
	// URLs of the virtual workspaces, without a slash at their end. A shard on which no
	// workspace binds the export has none.
	URLs []string
	// Incomplete says why there may be more of them; nil: these are all.
	Incomplete error
}

// Slice reads the addresses. An address that can't be used is an error.
func (c *Client) Slice(ctx context.Context) (*Slice, error) {
	var s apisv1alpha1.APIExportEndpointSlice
	at := c.host + "/apis/" + apisv1alpha1.SchemeGroupVersion.String() + "/apiexportendpointslices/" + c.export
	if err := get(ctx, c.provider, at, &s); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("there is no APIExportEndpointSlice %s in the workspace of the kubeconfig: make one of the APIExport %s, and see that the kubeconfig leads to its workspace (%s)",
				c.export, c.export, err.Error())
		}
		return nil, fmt.Errorf("APIExportEndpointSlice %s: %w", c.export, err)
	}
	if s.Spec.APIExport.Name != c.export {
		return nil, fmt.Errorf("APIExportEndpointSlice %s is of the APIExport %q: name one of this APIExport like it", c.export, s.Spec.APIExport.Name)
	}
	out := &Slice{Incomplete: settled(&s)}
	for _, e := range s.Status.APIExportEndpoints {
		u, err := url.Parse(e.URL)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("APIExportEndpointSlice %s has an endpoint that isn't the https URL of a server", c.export)
		}
		out.URLs = append(out.URLs, strings.TrimRight(e.URL, "/"))
	}
	return out, nil
}

// settled tells why kcp hasn't yet said all endpoints, or has taken them away: the
// export or the partition is gone, or can't be read.
func settled(s *apisv1alpha1.APIExportEndpointSlice) error {
	valid := false
	for _, c := range s.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			return fmt.Errorf("APIExportEndpointSlice %s: condition %s is %s: %s", s.Name, c.Type, c.Status, c.Message)
		}
		valid = valid || c.Type == apisv1alpha2.APIExportValid
	}
	if !valid {
		return errors.New("APIExportEndpointSlice " + s.Name + " has no condition " + string(apisv1alpha2.APIExportValid) + " yet")
	}
	return nil
}

// Provider is the workspace that has the export, as the address of a virtual workspace
// names it; "": it doesn't.
func (c *Client) Provider(view string) string {
	if before, ok := strings.CutSuffix(view, "/"+c.export); ok {
		return before[strings.LastIndexByte(before, '/')+1:]
	}
	return ""
}
