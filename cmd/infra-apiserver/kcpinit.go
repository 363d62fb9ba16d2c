package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"socialweb.computer/infra-apiserver/internal/kcp/provider"
)

// newKCPInit sets up the workspace that others bind to.
func newKCPInit() *cobra.Command {
	var o provider.Options
	var kubeconfig, context, authorities, shardCert, shardKey string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up the provider workspace of a kcp, or tell what is in the way",
		Long: "Applies the manifests of artifacts/kcp to the workspace of --kubeconfig, by server-side apply: what is there already stays as it is, " +
			"and so does what others added. Before it writes anything it looks at the kcp, at an export of that name and at --url, and refuses " +
			"where tenants would not reach this server, or would lose sight of objects that they have.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := o.Validate()
			if err != nil {
				return err
			}
			if o.Config, err = workspaceConfig(kubeconfig, context); err != nil {
				return err
			}
			if authorities != "" {
				if o.Authorities, err = os.ReadFile(authorities); err != nil {
					return fmt.Errorf("--url-ca-file: %w", err)
				}
			}
			if shardCert != "" || shardKey != "" {
				pair, err := tls.LoadX509KeyPair(shardCert, shardKey)
				if err != nil {
					return fmt.Errorf("--shard-client-cert-file and --shard-client-key-file: %w", err)
				}
				o.ShardCertificate = &pair
			}
			o.Out = cmd.OutOrStdout()
			report, err := provider.Init(cmd.Context(), o)
			tell(o.Out, report)
			if err == nil && !o.DryRun {
				fmt.Fprintf(o.Out, "workspaces can bind %s\n", o.Export)
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file of an administrator of the provider workspace. Empty: as kubectl finds it.")
	fs.StringVar(&context, "context", "", "Its context. Empty: the current one.")
	fs.StringSliceVar(&o.URLs, "url", nil, "Where the shards reach this server, like https://kcp.example.com/services/infra: their URL of virtual workspaces, and the --kcp-path-prefix of serve. "+
		"Where shards differ in theirs, one for each.")
	fs.StringVar(&authorities, "url-ca-file", "", "Authorities of the certificate at --url. Empty: those of the kubeconfig.")
	fs.StringVar(&shardCert, "shard-client-cert-file", "", "Client certificate of a shard, as its flag of this name says: --url is tried with it. Empty: it isn't.")
	fs.StringVar(&shardKey, "shard-client-key-file", "", "Its key.")
	fs.StringVar(&o.Export, "export", provider.DefaultExport, "Name of the APIExport.")
	fs.BoolVar(&o.DryRun, "dry-run", false, "Write nothing, and tell what would be written.")
	fs.BoolVar(&o.Force, "force-conflicts", false, "Take over fields that somebody else manages, and leave a URL where tenants have objects.")
	fs.DurationVar(&o.Timeout, "timeout", provider.DefaultTimeout, "How long kcp may take to act on what was applied.")
	return cmd
}

// workspaceConfig is the client configuration of a workspace, as kubectl finds it.
func workspaceConfig(kubeconfig, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return config, nil
}

// tell what was found, each with its remedy.
func tell(out io.Writer, r *provider.Report) {
	for _, f := range r.Faults {
		fmt.Fprintf(out, "- %s\n  %s\n", f.Fault, f.Remedy)
	}
	for _, f := range r.Unknown {
		fmt.Fprintf(out, "? %s\n  %s\n", f.Fault, f.Remedy)
	}
}
