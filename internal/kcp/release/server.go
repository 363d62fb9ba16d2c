package release

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

const (
	// clusterAnnotation names the workspace on every object.
	clusterAnnotation = "kcp.io/cluster"
	// allWorkspaces is the workspace that lists them all.
	allWorkspaces = "*"
	// defaultWorkspace is the server's own.
	defaultWorkspace = "default"
	// fieldManager of what is changed.
	fieldManager = "infra-apiserver-kcp-release"
)

// item is an object of any kind, as far as it matters here.
type item struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Record  *v1alpha1.RecordBinding `json:"record"`
		Default bool                    `json:"default"`
		// StaleReads of an AtprotoRepo.
		StaleReads v1alpha1.StaleReadsPolicy `json:"staleReads"`
	} `json:"spec"`
	Status struct {
		Record     *v1alpha1.RecordStatus `json:"record"`
		Phase      string                 `json:"phase"`
		Conditions []metav1.Condition     `json:"conditions"`
	} `json:"status"`
}

// Server is an infra-apiserver, reached past any aggregator.
type Server struct {
	config *rest.Config
	http   *http.Client
}

// NewServer makes a client. It asks nothing yet.
func NewServer(config *rest.Config) (*Server, error) {
	config = rest.AddUserAgent(rest.CopyConfig(config), "kcp-release")
	config.QPS = -1 // one command, which waits for each answer
	config.WarningHandlerWithContext = rest.NoWarnings{}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return &Server{config: config, http: client}, nil
}

// in is the client of a workspace.
func (s *Server) in(workspace string) (rest.Interface, error) {
	config := rest.CopyConfig(s.config)
	config.Host += "/clusters/" + workspace
	c, err := typed.NewForConfigAndClient(config, s.http)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return c.RESTClient(), nil
}

// list what a workspace has of a resource, at a version of etcd at least, and returns the
// version that it was at. With a version the server answers from its cache, and a PDS that
// is away doesn't matter; "": as it is now, for a resource that no PDS has.
func (s *Server) list(ctx context.Context, workspace, resource, version string) (items []item, at string, err error) {
	c, err := s.in(workspace)
	if err != nil {
		return nil, "", err
	}
	get := c.Get().Resource(resource)
	if version != "" {
		get = get.Param("resourceVersion", version).Param("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
	}
	body, err := answer(get.Do(ctx))
	if err != nil {
		return nil, "", hint(fmt.Errorf("listing %s of workspace %s: %w", resource, workspace, err))
	}
	var all struct {
		Kind     string          `json:"kind"`
		Metadata metav1.ListMeta `json:"metadata"`
		Items    []item          `json:"items"`
	}
	if err := json.Unmarshal(body, &all); err != nil || !strings.HasSuffix(all.Kind, "List") {
		return nil, "", fmt.Errorf("listing %s of workspace %s: the answer is no list", resource, workspace)
	}
	return all.Items, all.Metadata.ResourceVersion, nil
}

// patch an object, provided that it is as it was read; it is what came of it then.
func (s *Server) patch(ctx context.Context, workspace, resource string, o *item, change map[string]any) error {
	c, err := s.in(workspace)
	if err != nil {
		return err
	}
	meta, _ := change["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["uid"], meta["resourceVersion"] = o.UID, o.ResourceVersion
	change["metadata"] = meta
	data, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	body, err := answer(c.Patch(types.MergePatchType).Resource(resource).Name(o.Name).Param("fieldManager", fieldManager).Body(data).Do(ctx))
	if err != nil {
		return err
	}
	var now item
	if err := json.Unmarshal(body, &now); err != nil {
		return fmt.Errorf("patch: the answer is no object: %w", err)
	}
	*o = now
	return nil
}

// remove an object, provided that it is as it was read.
func (s *Server) remove(ctx context.Context, workspace, resource string, o *item, propagation metav1.DeletionPropagation) error {
	c, err := s.in(workspace)
	if err != nil {
		return err
	}
	options := &metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"},
		Preconditions:     &metav1.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion},
		PropagationPolicy: &propagation,
	}
	data, err := json.Marshal(options)
	if err != nil {
		return fmt.Errorf("deletion: %w", err)
	}
	return c.Delete().Resource(resource).Name(o.Name).Body(data).Do(ctx).Error()
}

// answer is the body, or the error in the server's words.
func answer(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err
	}
	return r.Raw()
}

// hint says how to mend what a kubeconfig lacks.
func hint(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: the kubeconfig must lead to infra-apiserver itself, run with --workspaces, not to a cluster that aggregates it", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; the kubeconfig must lead to infra-apiserver itself, and its user needs the verb access on the path of the workspace (nonResourceURLs /clusters/WORKSPACE, or /clusters/* for all), beside the right to the objects", err)
	}
	return err
}
