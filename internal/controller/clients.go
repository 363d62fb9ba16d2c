package controller

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/lru"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/scheme"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// allWorkspaces is the workspace that lists them all.
const allWorkspaces = "*"

// clients of one server: one for each workspace, over the same connections and
// within the same limit.
type clients struct {
	config rest.Config
	http   *http.Client
	// workspaces says that the server has a door for each.
	workspaces bool
	made       *lru.Cache // workspace → *typed.SocialwebV1alpha1Client
}

// clientsKept bounds the workspaces whose clients are kept, those that were worked in
// last: workspaces come and go. Another is made at no cost but memory.
const clientsKept = 4096

func newClients(config *rest.Config, workspaces bool) (*clients, error) {
	c := &clients{config: *config, workspaces: workspaces, made: lru.New(clientsKept)}
	if c.config.UserAgent == "" {
		c.config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if c.config.RateLimiter == nil && c.config.QPS > 0 {
		c.config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(c.config.QPS, max(c.config.Burst, 1))
	}
	var err error
	if c.http, err = rest.HTTPClientFor(&c.config); err != nil {
		return nil, fmt.Errorf("client of the API: %w", err)
	}
	return c, nil
}

// in is the client of a workspace.
func (c *clients) in(workspace string) (typed.SocialwebV1alpha1Interface, error) {
	if !c.workspaces {
		workspace = ""
	}
	if made, ok := c.made.Get(workspace); ok {
		return made.(*typed.SocialwebV1alpha1Client), nil
	}
	r, err := c.rest(workspace, scheme.Codecs.WithoutConversion())
	if err != nil {
		return nil, err
	}
	made := typed.New(r)
	c.made.Add(workspace, made)
	return made, nil
}

// seeing is the client of the informers: it sees all workspaces, and each object at
// its workspace.
func (c *clients) seeing() (versioned.Interface, error) {
	workspace := ""
	if c.workspaces {
		workspace = allWorkspaces
	}
	r, err := c.rest(workspace, placingCodecs{scheme.Codecs.WithoutConversion()})
	if err != nil {
		return nil, err
	}
	return cachedReads{versioned.New(r)}, nil
}

// cachedReads keeps informers from streaming their first list: that is a consistent
// read, which fails while a PDS is away. They list what the server has in its cache.
type cachedReads struct{ versioned.Interface }

// IsWatchListSemanticsUnSupported is asked by reflectors.
func (cachedReads) IsWatchListSemanticsUnSupported() bool { return true }

func (c *clients) rest(workspace string, codecs runtime.NegotiatedSerializer) (rest.Interface, error) {
	config := c.config
	config.GroupVersion, config.NegotiatedSerializer, config.APIPath = &v1alpha1.SchemeGroupVersion, codecs, "/apis"
	if workspace != "" {
		config.APIPath = "/clusters/" + workspace + "/apis"
	}
	r, err := rest.RESTClientForConfigAndClient(&config, c.http)
	if err != nil {
		return nil, fmt.Errorf("client of the API: %w", err)
	}
	return r, nil
}
