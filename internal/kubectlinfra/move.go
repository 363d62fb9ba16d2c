package kubectlinfra

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// verb moves contracts to a state.
type verb struct {
	name, done, short string
	state             v1alpha1.ContractState
}

var verbs = []verb{
	{"request", "requested", "Request contracts: a bidder is looked for", v1alpha1.ContractRequested},
	{"stage", "staged", "Stage contracts: what was requested is given back, and can be requested anew", v1alpha1.ContractStaged},
	{"release", "released", "Release contracts: they are given back", v1alpha1.ContractReleased},
}

// move is one call of a verb.
type move struct {
	verb
	Streams
	all                          bool
	output, dryRun, fieldManager string
}

func newMove(f *factory, s Streams, v verb) *cobra.Command {
	m := &move{verb: v, Streams: s}
	cmd := &cobra.Command{
		Use:   v.name + " (NAME | TYPE/NAME) (CONTRACT... | --all)",
		Short: v.short,
		Long: v.short + ".\n\nNothing but the state of the contracts that are named is changed, and where somebody else " +
			"changes the deployment at the same time, it is read again first.",
		Example: fmt.Sprintf("  kubectl infra %[1]s web front back\n  kubectl infra %[1]s einf/batch --all", v.name),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usage(cmd, "required deployment not specified")
			case m.all && len(args) > 1:
				return usage(cmd, "contracts cannot be named when --all is set")
			case !m.all && len(args) == 1:
				return usage(cmd, "required contract not specified")
			case !slices.Contains([]string{"", "name", "json", "yaml"}, m.output):
				return usage(cmd, "unable to match a printer suitable for the output format %q, allowed formats are: json,name,yaml", m.output)
			case !slices.Contains([]string{"none", "client", "server"}, m.dryRun):
				return usage(cmd, `Invalid dry-run value (%v). Must be "none", "server", or "client".`, m.dryRun)
			}
			c, t, err := f.open(args[0])
			if err != nil {
				return err
			}
			return m.run(cmd.Context(), c, t, args[1:])
		},
		ValidArgsFunction: f.completeContracts(infras, ephemeralInfras),
	}
	cmd.Flags().BoolVar(&m.all, "all", false, "Every contract that the deployment declares.")
	cmd.Flags().StringVarP(&m.output, "output", "o", "", "Output format. One of: (json, name, yaml).")
	cmd.Flags().StringVar(&m.dryRun, "dry-run", "none", `Must be "none", "server", or "client".`)
	cmd.Flags().StringVar(&m.fieldManager, "field-manager", "kubectl-infra", "Name of the manager used to track field ownership.")
	completeFlag(cmd, "output", oneOf("json", "name", "yaml"))
	completeFlag(cmd, "dry-run", oneOf("none", "server", "client"))
	return cmd
}

// conflicts are retried for some seconds: a controller may write its status just now.
var conflicts = wait.Backoff{Steps: 9, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.2}

func (m *move) run(ctx context.Context, c *client, t target, contracts []string) error {
	var d *deployment
	var changed []string
	err := retry.RetryOnConflict(conflicts, func() (err error) {
		if d, err = c.deployment(ctx, t); err != nil {
			return err
		}
		if m.all {
			contracts = d.declared()
		}
		if changed, err = m.toChange(d, contracts); err != nil || len(changed) == 0 {
			return err
		}
		if m.dryRun == "client" {
			for i := range d.spec.Contracts {
				if slices.Contains(changed, d.spec.Contracts[i].Name) {
					d.spec.Contracts[i].State = m.state
				}
			}
			return nil
		}
		return m.send(ctx, c, d, changed)
	})
	if err != nil {
		return err
	}
	return m.tell(d, contracts, changed)
}

// toChange are those of the contracts that aren't in the state yet.
func (m *move) toChange(d *deployment, contracts []string) ([]string, error) {
	declared := d.declared()
	if len(declared) == 0 {
		return nil, fmt.Errorf("%s declares no contract", d.plain())
	}
	var unknown, changed []string
	for _, name := range contracts {
		at := slices.Index(declared, name)
		switch {
		case at < 0:
			unknown = append(unknown, fmt.Sprintf("%q", name))
		case d.spec.Contracts[at].State != m.state && !slices.Contains(changed, name):
			changed = append(changed, name)
		}
	}
	if len(unknown) > 0 {
		return nil, noSuchContract(d, unknown...)
	}
	return changed, nil
}

func noSuchContract(d *deployment, quoted ...string) error {
	return fmt.Errorf("%s has no contract %s: there are %s", d.plain(), strings.Join(quoted, ", "), strings.Join(d.declared(), ", "))
}

// send patches the states, on condition that the deployment is still what was read.
// The patch merges by name: fields of a contract that this program is too old to know
// stay as they are, and so does the order, which is public.
func (m *move) send(ctx context.Context, c *client, d *deployment, changed []string) error {
	type named struct {
		Name  string                 `json:"name"`
		State v1alpha1.ContractState `json:"state,omitempty"`
	}
	var order, states []named
	for _, name := range d.declared() {
		order = append(order, named{Name: name})
		if slices.Contains(changed, name) {
			states = append(states, named{name, m.state})
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": d.meta.ResourceVersion},
		"spec":     map[string]any{"$setElementOrder/contracts": order, "contracts": states},
	})
	if err != nil {
		return fmt.Errorf("patch of %s: %w", d.plain(), err)
	}
	o := metav1.PatchOptions{FieldManager: m.fieldManager}
	if m.dryRun == "server" {
		o.DryRun = []string{metav1.DryRunAll}
	}
	obj, err := c.patch(ctx, d.target, patch, o)
	if err != nil {
		return err
	}
	*d = *asDeployment(obj)
	return nil
}
