package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/metrics"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Config of the server: the generic part and ours.
type Config struct {
	GenericConfig *genericapiserver.RecommendedConfig
	ExtraConfig   ExtraConfig
}

// ExtraConfig is what this server has beyond a generic one.
type ExtraConfig struct {
	// Storage of the objects.
	Storage Storage
	// Workspaces opens the door /clusters/<workspace>/… to users who have the verb
	// access on it.
	Workspaces bool
	// HasJetstream tells whether AtprotoRepos of the event source Jetstream may
	// leave its address out.
	HasJetstream bool
	// ComputeContracts serves the kind ComputeContract. Off: it is served elsewhere.
	ComputeContracts bool

	kcp     *kcpDoor // nil: shut
	execute executePolicy
	limits  *doorLimits
}

type completedConfig struct {
	generic genericapiserver.CompletedConfig
	extra   *ExtraConfig
}

// CompletedConfig can be made by Config.Complete alone.
type CompletedConfig struct{ *completedConfig }

// Server is the API server, installed and not yet run.
type Server struct {
	GenericAPIServer *genericapiserver.GenericAPIServer
	storage          Storage
}

// Run serves until ctx ends, then drains, ends the storage and returns.
func (s *Server) Run(ctx context.Context) error {
	if serving := s.GenericAPIServer.SecureServingInfo; serving != nil {
		defer metrics.AddCertificate(certificateEnd(serving.Cert))()
	}
	err := s.GenericAPIServer.PrepareRun().RunWithContext(ctx)
	return errors.Join(err, s.storage.Close())
}

// awaitEnd waits for the end of the storage's own work, if that began: it never does
// where the server could not listen.
func awaitEnd(begun, done <-chan struct{}) {
	select {
	case <-begun:
		<-done
	default:
	}
}

// Complete fills in what wasn't set. It changes the receiver.
func (c *Config) Complete() CompletedConfig {
	storage := c.ExtraConfig.Storage
	c.GenericConfig.RESTOptionsGetter = optionsGetter{c.GenericConfig.RESTOptionsGetter, storage}
	c.GenericConfig.AddHealthChecks(checker{"ingest", storage.Healthz})
	c.GenericConfig.AddReadyzChecks(checker{"repositories", storage.Ready})
	// A restart doesn't bring etcd back.
	c.GenericConfig.LivezChecks = slices.DeleteFunc(c.GenericConfig.LivezChecks, func(h healthz.HealthChecker) bool { return h.Name() == "etcd" })

	c.GenericConfig.Authorization.Authorizer = doorAuthorizer{c.GenericConfig.Authorization.Authorizer, c.ExtraConfig.Workspaces}
	c.ExtraConfig.limits.share(c.GenericConfig.MaxRequestsInFlight, c.GenericConfig.MaxMutatingRequestsInFlight)
	build := c.GenericConfig.BuildHandlerChainFunc
	c.GenericConfig.BuildHandlerChainFunc = func(h http.Handler, cfg *genericapiserver.Config) http.Handler {
		return doors{c.ExtraConfig.limits.handler(build(h, cfg), cfg.RequestInfoResolver, cfg.Serializer), cfg.Serializer, c.ExtraConfig.kcp}
	}
	generic := c.GenericConfig.Complete()
	// Around all of them, the server's own too, which completing has added: nobody behind
	// the door logs a refusal once more.
	if inner := generic.Authentication.Authenticator; inner != nil {
		generic.Authentication.Authenticator = doorAuthenticator{inner}
	}
	return CompletedConfig{&completedConfig{generic, &c.ExtraConfig}}
}

// New installs the API group into a new server.
func (c completedConfig) New() (*Server, error) {
	metrics.Register()
	s, err := c.generic.New("infra-apiserver", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("API server: %w", err)
	}
	resources, err := c.resources()
	if err != nil {
		return nil, fmt.Errorf("API server: %w", err)
	}
	begun, done := make(chan struct{}), make(chan struct{})
	// Before the resources' own, which comes with them: what the storage still does
	// at the end, as a put, needs the resources.
	s.RegisterDestroyFunc(func() { awaitEnd(begun, done) })
	group := genericapiserver.NewDefaultAPIGroupInfo(socialweb.GroupName, Scheme, metav1.ParameterCodec, Codecs)
	group.NegotiatedSerializer = textCodecs{Codecs}
	group.VersionedResourcesStorageMap[v1alpha1.SchemeGroupVersion.Version] = resources
	if err := s.InstallAPIGroup(&group); err != nil {
		return nil, fmt.Errorf("API server: %w", err)
	}
	if err := s.AddPostStartHook("storage", func(hook genericapiserver.PostStartHookContext) error {
		close(begun)
		go func() {
			defer close(done)
			c.runStorage(hook, hook.LoopbackClientConfig)
		}()
		return nil
	}); err != nil {
		return nil, fmt.Errorf("API server: %w", err)
	}
	return &Server{GenericAPIServer: s, storage: c.extra.Storage}, nil
}

// runStorage is the storage's own work, from the server's start to its end.
func (c completedConfig) runStorage(ctx context.Context, loopback *restclient.Config) {
	err := c.extra.Storage.Run(ctx, loopback)
	if err != nil && ctx.Err() == nil {
		// Without it nothing is brought up any more: livez says so and the process
		// is replaced.
		klog.FromContext(ctx).Error(err, "The storage ended")
	}
}

// checker is a health check with a name.
type checker struct {
	name  string
	check func() error
}

// Name implements healthz.HealthChecker.
func (c checker) Name() string { return c.name }

// Check implements healthz.HealthChecker.
func (c checker) Check(*http.Request) error { return c.check() }
