package main

import (
	"context"

	"github.com/spf13/cobra"

	"socialweb.computer/infra-apiserver/internal/dev"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

// newRoot is the whole command line. Its commands end with ctx.
func newRoot(ctx context.Context) *cobra.Command {
	root := &cobra.Command{
		Use:   "infra-apiserver",
		Short: "A Kubernetes API whose objects are records of atproto repositories",
		// An error while serving says nothing about how to call us.
		SilenceUsage: true,
	}
	root.SetContext(ctx)
	root.AddCommand(newServe(), newPreflight(), newDev(), newEtcdCertificates(), newKCP())
	return root
}

// newServe is the aggregated API server.
func newServe() *cobra.Command {
	o := apiserver.NewOptions()
	o.Shutdown = apiserver.GracefulShutdown()
	cmd := &cobra.Command{
		Use:               "serve",
		Short:             "Serve as an aggregated API server of a cluster",
		Args:              cobra.NoArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error { return o.SetGlobals() },
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.Run(cmd.Context()) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// newDev is everything in one process.
func newDev() *cobra.Command {
	o := dev.NewOptions()
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on loopback: etcd, a PDS, the API server and the controller",
		Args:  cobra.NoArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return apiserver.NewOptions().SetGlobals()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Who asks for a verbosity wants to see it.
			if err := o.Validate(); err == nil && !cmd.Flags().Changed("v") {
				flush, err := quietConsole(o.DataDir)
				if err != nil {
					return err
				}
				defer flush()
			}
			return dev.Run(cmd.Context(), o)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}
