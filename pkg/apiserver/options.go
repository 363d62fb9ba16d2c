package apiserver

import (
	"errors"
	"fmt"
	"net"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/preflight"
	"socialweb.computer/infra-apiserver/internal/servingcert"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// EtcdPrefix is where everything of ours lies in etcd unless --etcd-prefix says
// otherwise.
const EtcdPrefix = "/registry/" + socialweb.GroupName

// Options of the server, as they come from flags.
type Options struct {
	// Recommended are those of every aggregated API server. Any part may be nil,
	// which leaves that feature out.
	Recommended *genericoptions.RecommendedOptions
	// Repos say how the server reaches repositories.
	Repos *RepoOptions
	// Workspaces opens the door /clusters/<workspace>/… to users who have the verb
	// access on it.
	Workspaces bool
	// KCP says how the server stands behind kcp. Nil: it doesn't.
	KCP *KCPOptions
	// Quota bounds what each workspace may have. Nil: there are no limits.
	Quota *QuotaOptions
	// ComputeContracts serves the kind ComputeContract. Off: it is served elsewhere,
	// as a custom resource or by another server.
	ComputeContracts bool
	// Serving says where the serving certificate is kept.
	Serving *ServingOptions
	// Shutdown says how the server ends. The zero value: at once.
	Shutdown ShutdownOptions
	// AlternateDNS names, beside localhost, that a self-signed certificate is
	// for, where no certificate is given.
	AlternateDNS []string
	// Modify changes the generic config after the options were applied to it. It
	// is how dev puts its own authentication in. Nil: nothing to change.
	Modify func(*genericapiserver.RecommendedConfig) error

	components basecompatibility.ComponentGlobalsRegistry
	rotator    *servingcert.Rotator // keeps the serving certificate; nil: nobody does
	// authorities of the host cluster, in PEM, that were seen before the start.
	authorities []string
	// warned are the warnings of the last look at the host cluster.
	warned []preflight.Finding
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	o := &Options{
		Recommended:      genericoptions.NewRecommendedOptions(EtcdPrefix, Codecs.LegacyCodec(v1alpha1.SchemeGroupVersion)),
		Repos:            &RepoOptions{},
		KCP:              NewKCPOptions(),
		Quota:            NewQuotaOptions(),
		ComputeContracts: true,
		Serving:          &ServingOptions{Service: defaultServingService, ClusterDomain: "cluster.local"},
		components:       registerComponents(),
	}
	o.Recommended.Etcd.StorageConfig.EncodeVersioner = runtime.NewMultiGroupVersioner(v1alpha1.SchemeGroupVersion, schema.GroupKind{Group: socialweb.GroupName})
	return o
}

// AddFlags binds the options to flags. The names are those of every Kubernetes
// API server.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Recommended.AddFlags(fs)
	o.Repos.AddFlags(fs)
	o.Serving.AddFlags(fs)
	o.Shutdown.AddFlags(fs)
	fs.BoolVar(&o.Workspaces, "workspaces", o.Workspaces,
		"Serve /clusters/<workspace>/apis/… too, to users who have the verb access on the non-resource URL /clusters/<workspace>. Off: the default workspace at /apis/… alone.")
	o.KCP.AddFlags(fs)
	o.Quota.AddFlags(fs)
	fs.BoolVar(&o.ComputeContracts, "serve-computecontracts", o.ComputeContracts,
		"Serve the kind ComputeContract. Off: it is served elsewhere, as a custom resource or by another server.")
	o.components.AddFlags(fs)
}

// SetGlobals makes the flags of versions and feature gates take effect in the
// process. It comes once, after the flags were parsed and before Config.
func (o *Options) SetGlobals() error { return o.components.Set() }

// Complete fills in what follows from other options: a --kubeconfig alone is the
// one for authentication and authorization too.
func (o *Options) Complete() {
	r := o.Recommended
	if r.CoreAPI == nil {
		return
	}
	o.Serving.complete(o.certificateFiles())
	if r.Authentication != nil && r.Authentication.RemoteKubeConfigFile == "" {
		r.Authentication.RemoteKubeConfigFile = r.CoreAPI.CoreAPIKubeconfigPath
	}
	if r.Authorization != nil && r.Authorization.RemoteKubeConfigFile == "" {
		r.Authorization.RemoteKubeConfigFile = r.CoreAPI.CoreAPIKubeconfigPath
	}
}

// Validate tells everything that is wrong with the options, on this machine. It
// starts nothing.
func (o *Options) Validate() error {
	errs := append(o.Recommended.Validate(), o.check()...)
	errs = append(errs, o.Repos.Validate()...)
	errs = append(errs, o.KCP.Validate()...)
	errs = append(errs, o.Serving.check(o.certificateFiles())...)
	errs = append(errs, o.Quota.Validate()...)
	errs = append(errs, o.Shutdown.check()...)
	errs = append(errs, o.components.Validate()...)
	if len(errs) == 0 {
		return o.checkPort()
	}
	return utilerrors.NewAggregate(errs)
}

// Config applies the options.
func (o *Options) Config() (*Config, error) {
	if err := o.selfSign(); err != nil {
		return nil, err
	}
	c := genericapiserver.NewRecommendedConfig(Codecs)
	describe(c)
	// Before ApplyTo, which reads both.
	c.FeatureGate = o.components.FeatureGateFor(basecompatibility.DefaultKubeComponent)
	c.EffectiveVersion = o.components.EffectiveVersionFor(component)
	if err := o.Recommended.ApplyTo(c); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	o.Shutdown.applyTo(&c.Config)
	if len(o.authorities) > 0 {
		c.AddReadyzChecks(checker{"authorities", knowsAuthorities(c.SecureServing.ClientCA, o.authorities)})
	}
	if o.rotator != nil {
		c.AddReadyzChecks(checker{"serving-certificate", o.rotator.Ready})
	}
	if o.Modify != nil {
		if err := o.Modify(c); err != nil {
			return nil, err
		}
	}
	kcp, execute, err := o.KCP.doorAndPolicy(c)
	if err != nil {
		return nil, err
	}
	config := o.Recommended.Etcd.StorageConfig
	etcd, err := etcdClient(config.Transport, o.Repos)
	if err != nil {
		return nil, err
	}
	storage := newRepoStorage(etcd, config.Prefix, o.Repos, c.ClientConfig, c.TracerProvider, o.Quota.limits())
	return &Config{GenericConfig: c, ExtraConfig: ExtraConfig{
		Storage: storage, Workspaces: o.Workspaces, HasJetstream: o.Repos.Jetstream != "",
		ComputeContracts: o.ComputeContracts, kcp: kcp, execute: execute,
		limits: newDoorLimits(o.Quota, clock.RealClock{}),
	}}, nil
}

// NewServer makes the server that the options describe.
func (o *Options) NewServer() (_ *Server, err error) {
	o.Complete()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	config, err := o.Config()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, config.ExtraConfig.Storage.Close())
		}
	}()
	s, err := config.Complete().New()
	if err != nil {
		return nil, err
	}
	informers := config.GenericConfig.SharedInformerFactory
	if informers == nil {
		return s, nil
	}
	// The informers are those of the host cluster: of admission and of priority
	// and fairness.
	if err := s.GenericAPIServer.AddPostStartHook("host-informers", func(hook genericapiserver.PostStartHookContext) error {
		informers.Start(hook.Done())
		return nil
	}); err != nil {
		return nil, fmt.Errorf("API server: %w", err)
	}
	return s, nil
}

// certificateFiles tells whether the serving certificate comes as files.
func (o *Options) certificateFiles() bool {
	s := o.Recommended.SecureServing
	return s != nil && s.ServerCert.CertKey.CertFile != ""
}

// selfSign makes a certificate where nobody gives one.
func (o *Options) selfSign() error {
	s := o.Recommended.SecureServing
	if s == nil || s.ServerCert.GeneratedCert != nil {
		return nil
	}
	if err := s.MaybeDefaultWithSelfSignedCerts("localhost", o.AlternateDNS, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return fmt.Errorf("self-signed certificate: %w", err)
	}
	return nil
}
