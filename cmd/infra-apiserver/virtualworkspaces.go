package main

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

// virtualWorkspaces is the name by which kcp's operator starts a VirtualWorkspace, with
// flags and no command. The image has it as a link.
const virtualWorkspaces = "virtual-workspaces"

// newCommand is the command line of the program that was started by this path.
func newCommand(ctx context.Context, started string) *cobra.Command {
	if filepath.Base(started) != virtualWorkspaces {
		return newRoot(ctx)
	}
	cmd := newServe()
	cmd.Use = virtualWorkspaces
	cmd.Short += ", as kcp's operator starts it"
	cmd.SilenceUsage = true
	cmd.SetContext(ctx)
	ignoreOperatorFlags(cmd)
	return cmd
}

// forKCPsOwn are flags that the operator gives to kcp's own servers of virtual workspaces
// too, and that are of no use here.
var forKCPsOwn = []string{"shard-external-url", "cache-kubeconfig"}

func ignoreOperatorFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	for _, name := range forKCPsOwn {
		flags.String(name, "", "Ignored.")
		flags.Lookup(name).Hidden = true
	}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if given := slices.DeleteFunc(slices.Clone(forKCPsOwn), func(name string) bool { return !flags.Changed(name) }); len(given) > 0 {
			klog.FromContext(cmd.Context()).Info("Ignored flags that are for kcp's own servers", "flags", given)
		}
		return run(cmd, args)
	}
}
