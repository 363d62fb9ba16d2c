package kubectlinfra

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Streams are what the plugin works with.
type Streams struct {
	// Out and Err are written to.
	Out, Err io.Writer
	// Clock for ages; nil: the real one.
	Clock clock.PassiveClock
}

// Run runs one command line and returns the exit code: kubectl's, where kubectl has
// such a command.
func Run(ctx context.Context, args []string, s Streams) int {
	if s.Clock == nil {
		s.Clock = clock.RealClock{}
	}
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	text, code := describe(err)
	if text != "" {
		fmt.Fprintln(s.Err, text)
	}
	return code
}

func newRoot(s Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-infra",
		Short: "Show deployments with all that belongs to them, and move their contracts",
		Long: "Show deployments with all that belongs to them, and move their contracts.\n\n" +
			"A deployment is named as kubectl names objects: NAME is an Infra, einf/NAME an EphemeralInfra.",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl infra"},
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nSee '%s --help' for usage.", err, cmd.CommandPath()) //nolint:revive,staticcheck // kubectl's words
	})
	f := newFactory(root.PersistentFlags(), s.Err)
	var logs flag.FlagSet
	klog.InitFlags(&logs)
	root.PersistentFlags().AddGoFlag(logs.Lookup("v"))
	root.AddCommand(newTree(f, s), newRecord(f, s), newWait(f, s), newCompletion(s))
	for _, v := range verbs {
		root.AddCommand(newMove(f, s, v))
	}
	f.completeConfig(root)
	return root
}

// noCommand refuses what is none of the commands, and names those that are like it.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2 // cobra's own
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += ": there is " + strings.Join(near, ", ")
	}
	return usage(cmd, "%s", text)
}

// usage is an error of how a command was called, in kubectl's words.
func usage(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s\nSee '%s -h' for help and examples", fmt.Sprintf(format, args...), cmd.CommandPath())
}
