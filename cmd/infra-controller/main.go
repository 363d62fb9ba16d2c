// Command infra-controller requests and releases the contracts of Infras and
// EphemeralInfras.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"

	"socialweb.computer/infra-apiserver/internal/controller/command"
)

func main() {
	os.Exit(cli.Run(newRoot(genericapiserver.SetupSignalContext())))
}

// newRoot is the whole command line. It ends with ctx.
func newRoot(ctx context.Context) *cobra.Command {
	o := command.NewOptions()
	cmd := &cobra.Command{
		Use:   "infra-controller",
		Short: "Request and release the contracts of Infras and EphemeralInfras",
		Args:  cobra.NoArgs,
		// An error while running says nothing about how to call us.
		SilenceUsage: true,
		RunE:         func(cmd *cobra.Command, _ []string) error { return command.Run(cmd.Context(), o) },
	}
	cmd.SetContext(ctx)
	o.AddFlags(cmd.Flags())
	return cmd
}
