package provider

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Resources of kcp's own, in a workspace.
var (
	apiExports         = schema.GroupVersionResource{Group: "apis.kcp.io", Version: "v1alpha2", Resource: "apiexports"}
	apiBindings        = schema.GroupVersionResource{Group: "apis.kcp.io", Version: "v1alpha2", Resource: "apibindings"}
	apiResourceSchemas = schema.GroupVersionResource{Group: "apis.kcp.io", Version: "v1alpha1", Resource: "apiresourceschemas"}
	exportSlices       = schema.GroupVersionResource{Group: "apis.kcp.io", Version: "v1alpha1", Resource: "apiexportendpointslices"}
	cachedResources    = schema.GroupVersionResource{Group: "cache.kcp.io", Version: "v1alpha1", Resource: "cachedresources"}
	shards             = schema.GroupVersionResource{Group: "core.kcp.io", Version: "v1alpha1", Resource: "shards"}
	crds               = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// apiVersions are what every workspace of a fitting kcp serves.
var apiVersions = []schema.GroupVersionResource{apiResourceSchemas, apiExports}

// resources that the manifests have objects of.
var resources = map[string]string{
	"CustomResourceDefinition": crds.Resource, "InfraEndpointSlice": "infraendpointslices",
	"CachedResource": cachedResources.Resource, "APIResourceSchema": apiResourceSchemas.Resource, "APIExport": apiExports.Resource,
	"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "ServiceAccount": "serviceaccounts",
}

// callTimeout bounds each call.
const callTimeout = 30 * time.Second

// workspace is the provider's.
type workspace struct {
	config    *rest.Config
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
}

func newWorkspace(config *rest.Config) (*workspace, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 50, 100 // a person waits for it
	config.Timeout = callTimeout
	w := &workspace{config: config}
	var err error
	if w.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	w.discovery, err = discovery.NewDiscoveryClientForConfig(config)
	return w, err
}

// at is a client of the objects beside one of them.
func (w *workspace) at(obj *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := obj.GroupVersionKind()
	resource, ok := resources[gvk.Kind]
	if !ok {
		return nil, fmt.Errorf("there is no resource of the kind %s", gvk.Kind)
	}
	client := w.dynamic.Resource(gvk.GroupVersion().WithResource(resource))
	if ns := obj.GetNamespace(); ns != "" {
		return client.Namespace(ns), nil
	}
	return client, nil
}

// get the object of a name into one of a type; false: there is none.
func (w *workspace) get(ctx context.Context, gvr schema.GroupVersionResource, name string, into any) (bool, error) {
	u, err := w.dynamic.Resource(gvr).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", gvr.Resource, name, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
		return false, fmt.Errorf("%s %s: %w", gvr.Resource, name, err)
	}
	return true, nil
}

// serves tells whether a resource is served, by discovery.
func (w *workspace) serves(gvr schema.GroupVersionResource) (bool, error) {
	list, err := w.discovery.ServerResourcesForGroupVersion(gvr.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("discovery of %s: %w", gvr.GroupVersion(), err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == gvr.Resource }), nil
}

// clusterPath is the part of a URL's path that names a workspace.
var clusterPath = regexp.MustCompile(`/clusters/[^/]+/?$`)

// root is a client of the root workspace, which is where the shards are told.
func (w *workspace) root() (dynamic.Interface, error) {
	u, err := w.rootURL()
	if err != nil {
		return nil, err
	}
	return w.elsewhere(u)
}

func (w *workspace) rootURL() (*url.URL, error) {
	u, err := url.Parse(w.config.Host)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	u.Path = clusterPath.ReplaceAllString(u.Path, "/clusters/root")
	return u, nil
}

// wildcard is a client of all workspaces behind a virtual workspace.
func (w *workspace) wildcard(virtual string) (dynamic.Interface, error) {
	u, err := wildcardURL(virtual)
	if err != nil {
		return nil, err
	}
	return w.elsewhere(u)
}

func wildcardURL(virtual string) (*url.URL, error) {
	u, err := url.Parse(virtual)
	if err != nil {
		return nil, fmt.Errorf("virtual workspace: %w", err)
	}
	return u.JoinPath("clusters", "*"), nil
}

// elsewhere is a client with the same identity for another URL of this kcp.
func (w *workspace) elsewhere(u *url.URL) (dynamic.Interface, error) {
	config := rest.CopyConfig(w.config)
	config.Host = u.String()
	return dynamic.NewForConfig(config)
}
