package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"socialweb.computer/infra-apiserver/internal/kcp/release"
)

// newKCPRelease gives back what a workspace holds that has gone away.
func newKCPRelease() *cobra.Command {
	var o release.Options
	var kubeconfig, context string
	cmd := &cobra.Command{
		Use:   "release WORKSPACE",
		Short: "Release what a workspace holds that is gone, and delete its objects",
		Long: "Releases the contracts of a workspace that doesn't bind the APIExport any more, and deletes its objects. Records are their accounts' and stay; " +
			"they are detached, so that they neither appear nor run where the workspace comes back, until they are bound again. " +
			"It refuses a workspace whose objects aren't told to be of one that is gone (condition WorkspaceBound False). Interrupted, it goes on when it is called again.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := workspaceConfig(kubeconfig, context)
			if err != nil {
				return err
			}
			if o.Server, err = release.NewServer(config); err != nil {
				return err
			}
			o.Workspace, o.Out = args[0], cmd.OutOrStdout()
			return release.Run(cmd.Context(), o)
		},
	}
	fs := cmd.Flags()
	serverFlags(fs, &kubeconfig, &context, "/clusters/WORKSPACE")
	fs.BoolVar(&o.Force, "force", false, "Release a workspace that isn't told to be gone.")
	fs.BoolVar(&o.DryRun, "dry-run", false, "Do nothing, and tell what would be done.")
	fs.DurationVar(&o.Timeout, "timeout", release.DefaultTimeout, fmt.Sprintf("How long contracts may take to be released. What isn't by then is named, and goes on: call it again. 0: %s.", release.DefaultTimeout))
	return cmd
}
