package kubectlinfra

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// completionTime bounds a look-up for the shell: who presses Tab doesn't wait longer.
const completionTime = 5 * time.Second

type completer func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// completeNames offers objects of the kinds, for the first most arguments; 0: all.
func (f *factory) completeNames(most int, kinds ...*kind) completer {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		c, err := f.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		plain := infras
		if f.ephemeral {
			plain = ephemeralInfras
		}
		var out []string
		for _, k := range kinds {
			prefix := k.short + "/"
			if k == plain {
				prefix = ""
			}
			// What can't be listed isn't offered.
			_ = c.each(ctx, k, metav1.ListOptions{}, func(o runtime.Object) {
				name := prefix + object(o).GetName()
				if slices.Contains(args, name) {
					return
				}
				if d := asDeployment(o); d != nil && d.status.Phase != "" {
					name += "\t" + string(d.status.Phase)
				}
				out = append(out, name)
			})
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeContracts offers a deployment first, then its contracts.
func (f *factory) completeContracts(kinds ...*kind) completer {
	names := f.completeNames(1, kinds...)
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return names(cmd, args, toComplete)
		}
		var out []string
		if d := f.lookUp(cmd.Context(), args[0]); d != nil {
			for i := range d.spec.Contracts {
				if c := &d.spec.Contracts[i]; !slices.Contains(args[1:], c.Name) {
					out = append(out, c.Name+"\t"+string(c.State))
				}
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeGoals offers what `wait` can wait for.
func (f *factory) completeGoals(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	out := []string{"delete"}
	for _, p := range deploymentPhases {
		out = append(out, "phase="+p)
	}
	if len(args) > 0 {
		if d := f.lookUp(cmd.Context(), args[0]); d != nil {
			for _, name := range d.declared() {
				for _, p := range contractPhases {
					out = append(out, "contract/"+name+"="+p)
				}
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// lookUp reads a deployment for the shell; nil: it can't be had.
func (f *factory) lookUp(ctx context.Context, arg string) *deployment {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	c, t, err := f.open(arg)
	if err != nil {
		return nil
	}
	d, err := c.deployment(ctx, t)
	if err != nil {
		return nil
	}
	return d
}
