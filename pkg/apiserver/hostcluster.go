package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/preflight"
	"socialweb.computer/infra-apiserver/internal/startup"
)

// hostCluster is how to reach the cluster that the server belongs to; nil where it
// belongs to none.
func (o *Options) hostCluster() (*restclient.Config, error) {
	r := o.Recommended
	if r.CoreAPI == nil {
		return nil, nil
	}
	file := r.CoreAPI.CoreAPIKubeconfigPath
	if file == "" {
		c, err := restclient.InClusterConfig()
		if errors.Is(err, restclient.ErrNotInCluster) {
			return nil, errors.New("--kubeconfig is empty, and this is not a pod: name the kubeconfig of the host cluster")
		}
		if err != nil {
			return nil, fmt.Errorf("host cluster: %w", err)
		}
		return c, nil
	}
	c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: file}, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("host cluster: %s: %w", file, err)
	}
	return c, nil
}

// preflight is what has to be looked at in the host cluster, as these options need
// it. What is done by another kubeconfig is left out: it has rights of its own, maybe
// in another cluster.
func (o *Options) preflight(host *restclient.Config) preflight.Config {
	r := o.Recommended
	core := func(file string) bool { return r.CoreAPI != nil && file == r.CoreAPI.CoreAPIKubeconfigPath }
	auth := r.Authentication
	authenticates := auth != nil && core(auth.RemoteKubeConfigFile)
	return preflight.Config{
		Client:               host,
		APIService:           o.Serving.APIService,
		AuthenticationLookup: authenticates && !auth.SkipInClusterLookup && (auth.ClientCert.ClientCA == "" || auth.RequestHeader.ClientCAFile == ""),
		TokenReviews:         authenticates,
		AccessReviews:        r.Authorization != nil && core(r.Authorization.RemoteKubeConfigFile),
		Admission:            r.Admission != nil,
		PriorityAndFairness:  r.Features != nil && r.Features.EnablePriorityAndFairness,
		ServingSecret:        o.Serving.secret(),
		PatchAPIService:      o.Serving.APIService != "" && o.Serving.Secret != "",
		CredentialsNamespace: o.Repos.CredentialsNamespace,
	}
}

// Preflight looks whether the host cluster has what the server needs. user, where
// not "", is whose rights are looked at, with the groups.
func (o *Options) Preflight(ctx context.Context, user string, groups []string) (*preflight.Report, error) {
	o.Complete()
	host, err := o.hostCluster()
	if err != nil {
		return nil, err
	}
	if host == nil {
		return nil, errors.New("the options name no host cluster")
	}
	c := o.preflight(host)
	c.As = restclient.ImpersonationConfig{UserName: user, Groups: groups}
	return preflight.Run(ctx, c)
}

// needsOfHost returns nil once the host cluster is there and has all that the
// server needs. It then leaves out what the host can't do.
func (o *Options) needsOfHost(ctx context.Context, host *restclient.Config) error {
	report, err := preflight.Run(ctx, o.preflight(host))
	switch {
	case preflight.Unauthorized(err):
		return startup.PublicError("kube-apiserver doesn't accept our credentials").Because(err)
	case err != nil:
		return startup.PublicError("kube-apiserver can't be asked yet").Because(err)
	}
	o.warn(ctx, report.Warnings)
	var errs []error
	for _, f := range report.Findings {
		errs = append(errs, startup.PublicError(f.String()))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	o.fit(ctx, report.Host)
	if a := o.Recommended.Authentication; a != nil && a.ClientCert.ClientCA == "" && a.RequestHeader.ClientCAFile == "" {
		o.authorities = report.Authorities
	}
	return nil
}

// warn logs what the last look didn't warn of: while the server waits, it looks
// again and again.
func (o *Options) warn(ctx context.Context, warnings []preflight.Finding) {
	for _, f := range warnings {
		if !slices.Contains(o.warned, f) {
			klog.FromContext(ctx).Info("The server works without, something may not", "fault", f.Fault, "remedy", f.Remedy)
		}
	}
	o.warned = warnings
}

// authoritiesTerm is how long the authorities that were seen before the start are
// waited for: they may have been replaced since.
const authoritiesTerm = 30 * time.Second

// knowsAuthorities returns a check that fails until the server has read from the
// cluster whom to believe: before, it would take everybody for a stranger.
func knowsAuthorities(ca dynamiccertificates.CAContentProvider, pem []string) func() error {
	var known atomic.Bool
	began := time.Now()
	return func() error {
		if known.Load() || ca == nil || time.Since(began) > authoritiesTerm {
			return nil
		}
		bundle := ca.CurrentCABundleContent()
		for _, authority := range pem {
			// The bundle is each part without the space around it.
			if !bytes.Contains(bundle, []byte(strings.TrimSpace(authority))) {
				return errors.New("the authorities of client certificates were not read yet")
			}
		}
		known.Store(true)
		return nil
	}
}

// fit turns off what would wait for ever for an API that the host cluster lacks.
func (o *Options) fit(ctx context.Context, host preflight.Host) {
	r := o.Recommended
	if r.Admission != nil {
		for _, plugin := range host.LackingPlugins() {
			if slices.Contains(r.Admission.EnablePlugins, plugin) || slices.Contains(r.Admission.DisablePlugins, plugin) {
				continue
			}
			klog.FromContext(ctx).Info("Admission plug-in turned off: the host cluster lacks its API", "plugin", plugin)
			r.Admission.DisablePlugins = append(r.Admission.DisablePlugins, plugin)
		}
	}
	if r.Features != nil && r.Features.EnablePriorityAndFairness && !host.FlowControl {
		klog.FromContext(ctx).Info("Priority and fairness turned off: the host cluster lacks its API; the number of requests in flight is limited instead")
		r.Features.EnablePriorityAndFairness = false
	}
}
