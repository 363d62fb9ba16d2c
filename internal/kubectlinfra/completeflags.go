package kubectlinfra

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// completeConfig offers what the kubeconfig has, for the flags that choose of it.
func (f *factory) completeConfig(root *cobra.Command) {
	for flag, names := range map[string]func(*clientcmdapi.Config) []string{
		clientcmd.FlagContext:      func(c *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Contexts)) },
		clientcmd.FlagClusterName:  func(c *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Clusters)) },
		clientcmd.FlagAuthInfoName: func(c *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.AuthInfos)) },
	} {
		completeFlag(root, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			config, err := f.rules().Load()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return names(config), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// completeFlag sets how a flag is completed. It fails only for a flag that isn't
// there, or the second time, which is a fault of this program.
func completeFlag(cmd *cobra.Command, flag string, c completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, c); err != nil {
		panic(err)
	}
}

// oneOf completes to fixed words.
func oneOf(words ...string) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}
