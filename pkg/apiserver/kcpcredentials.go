package apiserver

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/credentials"
	"socialweb.computer/infra-apiserver/internal/kcp/export"
	"socialweb.computer/infra-apiserver/internal/repostore"
)

// KCPCredentials say how the server reads the Secrets of workspaces. The zero value: not.
type KCPCredentials struct {
	// Namespace of each workspace with the credentials of its accounts, as Secrets of the
	// names that its AtprotoRepos give. "": workspaces have no credentials of their own.
	Namespace string
	// Kubeconfig leads to the workspace of kcp that has the APIExport.
	Kubeconfig string
	// Export is the name of the APIExport whose permission claim shows the Secrets.
	Export string
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
		"kubeconfig file of the workspace of kcp that has the APIExport. Its user needs get on apiexportendpointslices, and get and list on apiexports/content there.")
	fs.StringVar(&o.Export, flagKCPExport[2:], o.Export, "Name of the APIExport, and of its APIExportEndpointSlice.")
}

// Validate tells everything that is wrong with the options, on this machine.
func (o *KCPCredentials) Validate() []error {
	var errs []error
	switch {
	case o.Namespace == "" && o.Kubeconfig != "":
		errs = append(errs, fmt.Errorf("%s %q: is used for nothing: give %s too, or leave it out", flagKCPKubeconfig, o.Kubeconfig, flagKCPNamespace))
	case o.Namespace == "":
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

// beside makes the provider of all workspaces: own is that of the server's own. end
// closes what it has open.
func (o *KCPCredentials) beside(own credentials.Provider) (p credentials.Provider, end func(), err error) {
	if o.Namespace == "" {
		return own, func() {}, nil
	}
	client, err := export.Load(o.Kubeconfig, o.Export)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", flagKCPKubeconfig, err)
	}
	others := credentials.NewWorkspaces(client, o.Namespace, clock.RealClock{})
	return credentials.Split{Default: repostore.DefaultWorkspace, Own: own, Others: others}, client.CloseIdle, nil
}
