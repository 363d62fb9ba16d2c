package apiserver

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/credentials"
	"socialweb.computer/infra-apiserver/internal/kcp/bindings"
	"socialweb.computer/infra-apiserver/internal/kcp/export"
	"socialweb.computer/infra-apiserver/internal/repostore"
)

// KCPCredentials say how the server reads what workspaces of a kcp show it: their Secrets,
// and that they are there. The zero value: not.
type KCPCredentials struct {
	// Namespace of each workspace with the credentials of its accounts, as Secrets of the
	// names that its AtprotoRepos give. "": workspaces have no credentials of their own.
	Namespace string
	// Kubeconfig leads to the workspace of kcp that has the APIExport.
	Kubeconfig string
	// Export is the name of the APIExport whose permission claim shows the Secrets.
	Export string
	// Clock of the looks which workspaces are gone; nil: the real one. It has no flag:
	// tests set it.
	Clock clock.WithTicker
}

// The names of the flags, which messages tell too.
const (
	flagKCPNamespace  = "--credentials-kcp-namespace"
	flagKCPKubeconfig = "--kcp-kubeconfig"
	flagKCPExport     = "--kcp-export"
)

// AddFlags binds the options to flags.
func (o *KCPCredentials) AddFlags(fs *pflag.FlagSet) {
	if o.Export == "" {
		o.Export = export.DefaultExport
	}
	fs.StringVar(&o.Namespace, flagKCPNamespace[2:], o.Namespace,
		"Namespace of each workspace of a kcp with the credentials of its accounts: Secrets with the keys identifier and password, named as spec.credentialsRef says, which the workspace shows by accepting the permission claim of "+flagKCPExport+". The server's own workspace goes on to use --credentials-dir or --credentials-namespace.")
	fs.StringVar(&o.Kubeconfig, flagKCPKubeconfig[2:], o.Kubeconfig,
		"kubeconfig file of the workspace of kcp that has the APIExport: AtprotoRepos and collections of workspaces that don't bind it any more say so. Its user needs get on apiexportendpointslices, and get and list on apiexports/content there. Empty: no workspace goes away.")
	fs.StringVar(&o.Export, flagKCPExport[2:], o.Export, "Name of the APIExport, and of its APIExportEndpointSlice.")
}

// Validate tells everything that is wrong with the options, on this machine.
func (o *KCPCredentials) Validate() []error {
	var errs []error
	switch {
	case o.Namespace == "" && o.Kubeconfig == "":
		return nil
	case o.Kubeconfig == "":
		errs = append(errs, fmt.Errorf("%s %q: needs %s, a kubeconfig of the workspace that has the APIExport", flagKCPNamespace, o.Namespace, flagKCPKubeconfig))
	}
	if ns := o.Namespace; ns != "" && len(validation.IsDNS1123Label(ns)) > 0 {
		errs = append(errs, fmt.Errorf("%s %q: can't be a namespace: write it like infra-credentials", flagKCPNamespace, ns))
	}
	if len(validation.IsDNS1123Subdomain(o.Export)) > 0 {
		return append(errs, fmt.Errorf("%s %q: can't be the name of an APIExport: write it like %s", flagKCPExport, o.Export, export.DefaultExport))
	}
	if f := o.Kubeconfig; f != "" {
		if _, err := os.Stat(f); err != nil {
			errs = append(errs, fmt.Errorf("%s %q: %w: name a file that can be read", flagKCPKubeconfig, f, cause(err)))
		} else if _, err := export.Load(f, o.Export); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", flagKCPKubeconfig, err))
		}
	}
	return errs
}

// client reads what the APIExport shows; nil: there is no kcp.
func (o *KCPCredentials) client() (*export.Client, error) {
	if o.Kubeconfig == "" {
		return nil, nil
	}
	client, err := export.Load(o.Kubeconfig, o.Export)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flagKCPKubeconfig, err)
	}
	return client, nil
}

// beside makes the provider of all workspaces: own is that of the server's own.
func (o *KCPCredentials) beside(own credentials.Provider, kcp *export.Client) credentials.Provider {
	if kcp == nil || o.Namespace == "" {
		return own
	}
	others := credentials.NewWorkspaces(kcp, o.Namespace, clock.RealClock{})
	return credentials.Split{Default: repostore.DefaultWorkspace, Own: own, Others: others}
}

// watcher looks which of the workspaces are gone; nil: none goes.
func (o *KCPCredentials) watcher(kcp *export.Client, workspaces func() []string) *bindings.Watcher {
	if kcp == nil {
		return nil
	}
	var c clock.WithTicker = clock.RealClock{}
	if o.Clock != nil {
		c = o.Clock
	}
	// Nobody need be told of a change: statuses are compared with it all the time.
	return bindings.New(bindings.Config{Export: kcp, Clock: c, Workspaces: workspaces, Changed: func(string) {}})
}
