package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

// newPreflight looks at a cluster before anything is installed or registered there.
func newPreflight() *cobra.Command {
	o := apiserver.NewOptions()
	o.Serving.APIService = "v1alpha1.socialweb.computer"
	var as string
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "Tell what keeps serve from working in a cluster, and how to mend it",
		Long: "Looks at the cluster of --kubeconfig: whether CustomResourceDefinitions are in the way of the APIService, and " +
			"whether everything is allowed that serve needs with the same flags. It changes nothing, and fails where serve would not become ready.",
		Args:              cobra.NoArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error { return o.SetGlobals() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := o.Preflight(cmd.Context(), as, groupsOf(as))
			if err != nil {
				return err
			}
			for _, f := range append(report.Findings, report.Warnings...) {
				fmt.Fprintf(cmd.OutOrStdout(), "- %s\n  %s\n", f.Fault, f.Remedy)
			}
			for _, plugin := range report.Host.LackingPlugins() {
				fmt.Fprintf(cmd.OutOrStdout(), "  serve will do without the admission plug-in %s: the cluster lacks its API\n", plugin)
			}
			if len(report.Findings) > 0 {
				return errors.New("serve would not become ready")
			}
			fmt.Fprintln(cmd.OutOrStdout(), "nothing is in the way")
			return nil
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&as, "as", "", "Whose rights are looked at, as system:serviceaccount:NAMESPACE:NAME. Empty: those of --kubeconfig.")
	return cmd
}

// groupsOf a user, as kube-apiserver gives them.
func groupsOf(user string) []string {
	groups := []string{"system:authenticated"}
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		namespace, _, _ := strings.Cut(account, ":")
		groups = append(groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	}
	if user == "" {
		return nil
	}
	return groups
}
