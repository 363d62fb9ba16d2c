package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// checkEndpoints refuses to lead shards away from where tenants have objects: another
// server would show them none. Where the server that is there doesn't answer, nobody can
// tell, and nothing is lost either.
func (o *Options) checkEndpoints(ctx context.Context, w *workspace, manifest *unstructured.Unstructured, r *Report) error {
	left, err := w.leaves(ctx, manifest, o.URLs)
	if err != nil || len(left) == 0 || o.Force {
		return err
	}
	var e apisv1alpha2.APIExport
	if exists, err := w.get(ctx, apiExports, o.Export, &e); err != nil || !exists {
		return err // nobody is bound
	}
	const remedy = "if this is the same server, by another URL, run it with --force-conflicts; else give the URL that is there too"
	leads := fmt.Sprintf("%s leads shards to %s, which isn't given with --url", label(manifest), strings.Join(left, ", "))
	workspaces, objects, err := w.count(ctx, &e)
	some := 0
	for _, n := range objects {
		some += n
	}
	switch {
	case errors.Is(err, errNoEndpoints): // no shard has a workspace that binds it
	case err != nil:
		r.unknown(Finding{fmt.Sprintf("%s; whether tenants have objects there isn't known: %v", leads, err), remedy})
	case some > 0:
		r.fault(Finding{fmt.Sprintf("%s; %s", leads, inWords(workspaces, objects)), remedy})
	}
	return nil
}

// leaves are the URLs of an InfraEndpointSlice that are not among others.
func (w *workspace) leaves(ctx context.Context, manifest *unstructured.Unstructured, urls []string) ([]string, error) {
	client, err := w.at(manifest)
	if err != nil {
		return nil, err
	}
	have, err := client.Get(ctx, manifest.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", label(manifest), err)
	}
	endpoints, _, err := unstructured.NestedSlice(have.Object, "status", "endpoints")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", label(manifest), err)
	}
	var out []string
	for _, e := range endpoints {
		m, ok := e.(map[string]any)
		if !ok {
			continue
		}
		if u, ok := m["url"].(string); ok && !slices.Contains(urls, u) {
			out = append(out, u)
		}
	}
	return out, nil
}
