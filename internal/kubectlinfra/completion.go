package kubectlinfra

import (
	"fmt"

	"github.com/spf13/cobra"
)

// completionScript is what kubectl looks for on the PATH to complete a plugin's
// arguments.
const completionScript = `#!/bin/sh
exec kubectl infra __complete "$@"
`

func newCompletion(s Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "completion",
		Short: "Print the program by which kubectl completes the arguments of this plugin",
		Long: "Print the program by which kubectl completes the arguments of this plugin, whatever the shell. " +
			"It must be on the PATH, under the name kubectl_complete-infra; kubectl's own completion must be set up.",
		Example:           "  kubectl infra completion > ~/bin/kubectl_complete-infra\n  chmod +x ~/bin/kubectl_complete-infra",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(s.Out, completionScript)
			return err
		},
	}
}
