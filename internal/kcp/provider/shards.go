package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// shard is how one of kcp's shards picks our URL.
type shard struct {
	// name of the shard, or whatever told its prefix.
	name string
	// prefix is its URL of virtual workspaces.
	prefix string
}

// checkShards looks whether each shard finds exactly one URL of ours.
func (w *workspace) checkShards(ctx context.Context, urls []string, r *Report) {
	found, err := w.shards(ctx)
	if err != nil || len(found) == 0 {
		if err == nil {
			err = errors.New("no shard tells one")
		}
		r.unknown(Finding{
			fmt.Sprintf("whether %s begins with the shards' URLs of virtual workspaces isn't known: %v", strings.Join(urls, ", "), err),
			"look yourself: kubectl get shards.core.kcp.io -o custom-columns=:.metadata.name,:.spec.virtualWorkspaceURL in the root workspace",
		})
		return
	}
	r.fault(match(found, urls)...)
}

// match urls with shards as a shard does it: it takes the one that begins with its
// prefix, character by character.
func match(found []shard, urls []string) []Finding {
	var out []Finding
	for _, s := range found {
		var mine []string
		for _, u := range urls {
			if strings.HasPrefix(u, s.prefix) {
				mine = append(mine, u)
			}
		}
		switch len(mine) {
		case 1:
		case 0:
			out = append(out, Finding{
				fmt.Sprintf("%s takes its virtual workspaces from %s, which no --url begins with", s.name, s.prefix),
				fmt.Sprintf("have a router send %[1]s/services/infra to this server and give --url=%[1]s/services/infra; "+
					"or start the shard with a --shard-virtual-workspace-url that --url begins with", strings.TrimSuffix(s.prefix, "/")),
			})
		default:
			out = append(out, Finding{
				fmt.Sprintf("%s can't tell which is meant for it of %s: all of them begin with %s", s.name, strings.Join(mine, ", "), s.prefix),
				"give one --url for each URL of virtual workspaces",
			})
		}
	}
	return out
}

// shards with their prefixes: from the root workspace, or else from where the virtual
// workspaces of this workspace's exports are.
func (w *workspace) shards(ctx context.Context) ([]shard, error) {
	root, err := w.root()
	if err != nil {
		return nil, err
	}
	list, err := root.Resource(shards).List(ctx, metav1.ListOptions{})
	if err == nil {
		return shardsOf(list.Items), nil
	}
	known, sliceErr := w.dynamic.Resource(exportSlices).List(ctx, metav1.ListOptions{})
	if sliceErr != nil {
		return nil, fmt.Errorf("shards of the root workspace: %w", err)
	}
	return prefixesOf(known.Items)
}

func shardsOf(items []unstructured.Unstructured) []shard {
	var out []shard
	for _, item := range items {
		spec, _, _ := unstructured.NestedStringMap(item.Object, "spec") // of strings alone; without them there is none
		prefix := spec["virtualWorkspaceURL"]
		if prefix == "" {
			prefix = spec["baseURL"] // as kcp defaults it
		}
		if prefix != "" {
			out = append(out, shard{"the shard " + item.GetName(), prefix})
		}
	}
	return out
}

// prefixesOf the URLs <prefix>/services/apiexport/<cluster>/<export>, each once.
func prefixesOf(items []unstructured.Unstructured) ([]shard, error) {
	var out []shard
	for _, item := range items {
		var s apisv1alpha1.APIExportEndpointSlice
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &s); err != nil {
			return nil, fmt.Errorf("APIExportEndpointSlice %s: %w", item.GetName(), err)
		}
		for _, e := range s.Status.APIExportEndpoints {
			prefix, _, ok := strings.Cut(e.URL, "/services/apiexport/")
			known := shard{"a shard", prefix}
			if ok && !slices.Contains(out, known) {
				out = append(out, known)
			}
		}
	}
	return out, nil
}
