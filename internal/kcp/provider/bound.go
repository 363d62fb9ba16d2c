package provider

import (
	"context"
	"errors"
	"fmt"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// page of a list.
const page = 500

// errNoEndpoints: an export has no virtual workspaces. A shard on which nobody binds it
// has none.
var errNoEndpoints = errors.New("its APIExportEndpointSlice has no URLs")

// count what lives behind an export: the workspaces that bind it, and their objects of
// our group, by resource. It reads the export's virtual workspaces, one for each URL.
func (w *workspace) count(ctx context.Context, e *apisv1alpha2.APIExport) (workspaces int, objects map[string]int, err error) {
	var slice apisv1alpha1.APIExportEndpointSlice
	exists, err := w.get(ctx, exportSlices, e.Name, &slice)
	if err != nil {
		return 0, nil, err
	}
	if !exists || len(slice.Status.APIExportEndpoints) == 0 {
		return 0, nil, errNoEndpoints
	}
	objects = map[string]int{}
	for _, endpoint := range slice.Status.APIExportEndpoints {
		client, err := w.wildcard(endpoint.URL)
		if err != nil {
			return 0, nil, err
		}
		n, err := countAll(ctx, client, apiBindings)
		if err != nil {
			return 0, nil, err
		}
		workspaces += n
		for _, r := range e.Spec.Resources {
			if r.Group != v1alpha1.GroupName {
				continue
			}
			n, err := countAll(ctx, client, v1alpha1.SchemeGroupVersion.WithResource(r.Name))
			if err != nil {
				return 0, nil, err
			}
			objects[r.Name] += n
		}
	}
	return workspaces, objects, nil
}

// countAll objects of a resource, page by page.
func countAll(ctx context.Context, client dynamic.Interface, gvr schema.GroupVersionResource) (int, error) {
	n := 0
	for next := ""; ; {
		list, err := client.Resource(gvr).List(ctx, metav1.ListOptions{Limit: page, Continue: next})
		if err != nil {
			return 0, fmt.Errorf("%s of all workspaces: %w", gvr.Resource, err)
		}
		n += len(list.Items)
		if next = list.GetContinue(); next == "" {
			return n, nil
		}
	}
}
