package kubectlinfra

import (
	"context"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

func newTree(f *factory, s Streams) *cobra.Command {
	allowed := []*kind{infras, ephemeralInfras, infraCollections, ephemeralInfraCollections}
	return &cobra.Command{
		Use:   "tree (NAME | TYPE/NAME)...",
		Short: "Show a deployment with its contracts, ComputeContracts and receipts",
		Long: "Show a deployment with its contracts, the ComputeContracts that stand for them, and the receipts of the bidders; " +
			"or a collection with the deployments that it serves.\n\nConditions that somebody should know of follow the tree.",
		Example: "  # An Infra, and an EphemeralInfra\n  kubectl infra tree web\n  kubectl infra tree einf/batch\n\n" +
			"  # A collection and all that it serves\n  kubectl infra tree infcol/theirs",
		ValidArgsFunction: f.completeNames(0, allowed...),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, "required deployment not specified")
			}
			targets := make([]target, len(args))
			for i, arg := range args {
				var err error
				if targets[i], err = f.target(arg, allowed...); err != nil {
					return err
				}
			}
			c, err := f.client()
			if err != nil {
				return err
			}
			contracts, err := f.contracts(c)
			if err != nil {
				return err
			}
			forest := &forest{client: c, contracts: contracts, now: s.Clock.Now()}
			for _, t := range targets {
				if err := forest.plant(cmd.Context(), t); err != nil {
					return err
				}
			}
			return forest.print(s.Out)
		},
	}
}

// plant adds the tree of an object.
func (f *forest) plant(ctx context.Context, t target) error {
	obj, err := f.client.get(ctx, t)
	if err != nil {
		return err
	}
	if d := asDeployment(obj); d != nil {
		if err := f.findContracts(ctx, d); err != nil {
			return err
		}
		f.trees = append(f.trees, f.deployment(d))
		return nil
	}
	served := map[string]*deployment{}
	selector := metav1.ListOptions{LabelSelector: v1alpha1.LabelCollection}
	err = f.client.each(ctx, t.kind.children, selector, func(o runtime.Object) {
		if d := asDeployment(o); metav1.IsControlledBy(d.meta, object(obj)) {
			served[d.name] = d
		}
	})
	if err != nil {
		return err
	}
	if err := f.findContracts(ctx, nil); err != nil {
		return err
	}
	f.trees = append(f.trees, f.collection(t, obj, served))
	return nil
}

// findContracts reads the ComputeContracts of a deployment, or of all (nil).
func (f *forest) findContracts(ctx context.Context, d *deployment) error {
	if f.byOwner == nil {
		f.byOwner = map[types.UID][]*v1alpha1.ComputeContract{}
	}
	if d != nil && f.byOwner[d.meta.UID] != nil || f.unserved != "" {
		return nil
	}
	o := metav1.ListOptions{}
	// A longer name is in the label as a hash.
	if d != nil && len(d.name) <= validation.LabelValueMaxLength {
		o.LabelSelector = labels.Set{v1alpha1.LabelName: d.name}.String()
	}
	seen := map[types.UID]bool{}
	for _, list := range f.byOwner {
		for _, c := range list {
			seen[c.UID] = true
		}
	}
	err := f.contracts.each(ctx, computeContracts, o, func(obj runtime.Object) {
		c := obj.(*v1alpha1.ComputeContract)
		if owner := metav1.GetControllerOf(c); owner != nil && !seen[c.UID] {
			f.byOwner[owner.UID] = append(f.byOwner[owner.UID], c)
		}
	})
	// The tree is worth showing without them.
	switch {
	case apierrors.IsNotFound(err):
		f.unserved = "ComputeContracts aren't served here: --contracts-kubeconfig names the cluster that serves them"
	case apierrors.IsForbidden(err):
		f.unserved = "ComputeContracts aren't shown: " + err.Error()
	default:
		return err
	}
	return nil
}

// computeContracts is no kind that a command takes.
var computeContracts = &kind{
	name: "ComputeContract", resource: "computecontracts", singular: "computecontract", short: v1alpha1.ShortNameComputeContract,
	new:     func() runtime.Object { return &v1alpha1.ComputeContract{} },
	newList: func() runtime.Object { return &v1alpha1.ComputeContractList{} },
}
