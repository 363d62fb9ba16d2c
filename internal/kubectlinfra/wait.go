package kubectlinfra

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// week is what kubectl makes of a negative timeout.
const week = 168 * time.Hour

func newWait(f *factory, s Streams) *cobra.Command {
	var wanted []string
	timeout := 30 * time.Second
	cmd := &cobra.Command{
		Use:   "wait (NAME | TYPE/NAME) --for=(phase=PHASE | contract/CONTRACT=PHASE | delete)",
		Short: "Wait until a deployment or one of its contracts is in a phase, or until it is gone",
		Long: "Wait until a deployment or one of its contracts is in a phase, or until it is gone. " +
			"Of several --for each is waited for in turn.\n\n" +
			"A phase that was observed before the last change of the deployment doesn't count.",
		Example: "  kubectl infra wait web --for=phase=Deployed --timeout=5m\n" +
			"  kubectl infra wait web --for=contract/front=Deployed\n  kubectl infra wait einf/batch --for=delete --timeout=1h",
		ValidArgsFunction: f.completeNames(1, infras, ephemeralInfras),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, "exactly one deployment is required, %d are given", len(args))
			}
			goals, err := parseGoals(wanted)
			if err != nil {
				return err
			}
			c, t, err := f.open(args[0])
			if err != nil {
				return err
			}
			if timeout < 0 {
				timeout = week
			}
			if err := c.await(cmd.Context(), t, goals, timeout); err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.Out, "%s condition met\n", t)
			return err
		},
	}
	cmd.Flags().StringArrayVar(&wanted, "for", nil, "What to wait for: phase=PHASE, contract/CONTRACT=PHASE or delete.")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout,
		"The length of time to wait before giving up. Zero means check once and don't wait, negative means wait for a week.")
	completeFlag(cmd, "for", f.completeGoals)
	return cmd
}

// await waits for the goals, one after the other.
func (c *client) await(ctx context.Context, t target, goals []goal, timeout time.Duration) error {
	d, err := c.deployment(ctx, t)
	switch {
	case apierrors.IsNotFound(err) && goals[0].deleted:
		return nil
	case err != nil:
		return err
	}
	for _, g := range goals {
		if err := g.check(d); err != nil {
			return err
		}
	}
	if timeout == 0 {
		for _, g := range goals {
			if !g.reached(d) {
				return fmt.Errorf("condition not met for %s", t.plural())
			}
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, g := range goals {
		err := c.awaitOne(ctx, t, d.meta.UID, g)
		if apiwait.Interrupted(err) || errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("timed out waiting for the condition on %s", t.plural())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitOne watches the object. An informer does it, which begins anew wherever a
// watch ends.
func (c *client) awaitOne(ctx context.Context, t target, uid types.UID, g goal) error {
	lw := cache.NewFilteredListWatchFromClient(c.api.RESTClient(), t.kind.resource, "", func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", t.name).String()
	})
	gone := func(store cache.Store) (bool, error) {
		obj, exists, err := store.GetByKey(t.name)
		switch {
		case err != nil:
			return false, err
		case g.deleted:
			return !exists || obj.(metav1.Object).GetUID() != uid, nil
		case !exists:
			return false, apierrors.NewNotFound(schema.GroupResource{Group: socialweb.GroupName, Resource: t.kind.resource}, t.name)
		}
		return false, nil
	}
	_, err := watchtools.UntilWithSync(ctx, lw, t.kind.new(), gone, func(e watch.Event) (bool, error) {
		if e.Type == watch.Error {
			return false, nil // the informer lists again
		}
		d := asDeployment(e.Object)
		if g.deleted {
			return e.Type == watch.Deleted || d.meta.UID != uid, nil
		}
		return e.Type != watch.Deleted && g.reached(d), nil
	})
	return err
}
