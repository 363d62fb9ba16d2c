package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"socialweb.computer/infra-apiserver/internal/kcp/bindings"
	"socialweb.computer/infra-apiserver/internal/kcp/export"
	"socialweb.computer/infra-apiserver/internal/kcp/release"
)

// newKCPWorkspaces lists the workspaces that have objects.
func newKCPWorkspaces() *cobra.Command {
	var kubeconfig, context, kcp, name string
	cmd := &cobra.Command{
		Use:   "workspaces",
		Short: "List the workspaces that have objects, and which of them are gone",
		Long: "Lists the workspaces that have objects. GONE counts the objects that say that their workspace is gone, of those that speak of it: the Infras and EphemeralInfras, and the other kinds once it has gone. " +
			"With --kcp-kubeconfig kcp is asked too which of them bind the APIExport now.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := workspaceConfig(kubeconfig, context)
			if err != nil {
				return err
			}
			server, err := release.NewServer(config)
			if err != nil {
				return err
			}
			all, err := server.Workspaces(cmd.Context())
			if err != nil {
				return err
			}
			var now map[string]bool
			var missing error
			if kcp != "" {
				e, err := export.Load(kcp, name)
				if err != nil {
					return fmt.Errorf("--kcp-kubeconfig: %w", err)
				}
				defer e.CloseIdle()
				now, missing = bindings.Shown(cmd.Context(), e)
			}
			if err := printWorkspaces(cmd.OutOrStdout(), all, kcp != "", now, missing); err != nil {
				return err
			}
			if missing != nil {
				return fmt.Errorf("not told of all workspaces that bind the APIExport: %w", missing)
			}
			return nil
		},
	}
	fs := cmd.Flags()
	serverFlags(fs, &kubeconfig, &context, "/clusters/*")
	fs.StringVar(&kcp, "kcp-kubeconfig", "", "kubeconfig file of the workspace of kcp that has the APIExport. Empty: kcp is not asked.")
	fs.StringVar(&name, "kcp-export", export.DefaultExport, "Name of the APIExport, and of its APIExportEndpointSlice.")
	return cmd
}

// serverFlags lead to the server itself, by a path.
func serverFlags(fs *pflag.FlagSet, kubeconfig, context *string, path string) {
	fs.StringVar(kubeconfig, "kubeconfig", "", "kubeconfig file that leads to infra-apiserver itself, run with --workspaces, as a user with the verb access on "+path+". Empty: as kubectl finds it.")
	fs.StringVar(context, "context", "", "Its context. Empty: the current one.")
}

// printWorkspaces is a table of them.
func printWorkspaces(out io.Writer, all []release.Workspace, asked bool, now map[string]bool, missing error) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	columns := []string{"WORKSPACE"}
	if asked {
		columns = append(columns, "BINDS")
	}
	columns = append(columns, "GONE")
	for _, r := range release.Resources {
		columns = append(columns, strings.ToUpper(r))
	}
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	for i := range all {
		cells := []string{all[i].Name}
		if asked {
			cells = append(cells, binds(all[i].Name, now, missing))
		}
		cells = append(cells, fmt.Sprintf("%d/%d", all[i].Flagged, all[i].Telling))
		for _, r := range release.Resources {
			cells = append(cells, strconv.Itoa(all[i].Objects[r]))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// binds says whether a workspace binds the export. That one doesn't takes a whole answer.
func binds(ws string, now map[string]bool, missing error) string {
	switch {
	case ws == "default":
		return "own"
	case now[ws]:
		return "yes"
	case missing != nil:
		return "unknown"
	}
	return "no"
}
