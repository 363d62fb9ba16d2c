package main

import "github.com/spf13/cobra"

// newKCP is what an operator of a kcp calls. Each command has a file of its own.
func newKCP() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kcp",
		Short: "Set up and look after the workspaces of a kcp that this server serves",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newKCPInit(), newKCPRelease(), newKCPWorkspaces())
	return cmd
}
