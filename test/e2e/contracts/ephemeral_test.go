//go:build e2e

package contracts

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// ttl of the EphemeralInfras. leftAtFirst of it is ahead when the record is written.
const (
	ttl         = 120 * time.Second
	leftAtFirst = 8 * time.Second
)

// calm is held by who needs the controllers to be there, and by who takes them away.
var calm sync.Mutex

func ephemeralInfras() typed.EphemeralInfraInterface {
	return plane.Admin().Infra.SocialwebV1alpha1().EphemeralInfras()
}

// deployedWithDeadline is an EphemeralInfra with its contract held and its deadline, in
// what is left, still to come. Its record was written by another client, with a createdAt that is
// most of its ttl ago; where the deadline came before the contract was held, another
// one was, with more of it left.
func deployedWithDeadline(t *testing.T, a *harness.Account, f *harness.Fulfiller, left time.Duration) *v1alpha1.EphemeralInfra {
	t.Helper()
	for ; ; left *= 2 {
		left = min(left, ttl)
		name := harness.Name(t)
		f.Serve(t, name)
		a.Put(t, harness.EphemeralInfraCollection, name, map[string]any{
			"createdAt":  time.Now().Add(left - ttl).UTC().Format("2006-01-02T15:04:05.000Z"),
			"ttlSeconds": int(ttl / time.Second),
			"contracts":  []any{map[string]any{"name": "web", "state": "requested"}},
		})
		o := harness.Await(t, ephemeralInfras().Watch, name, func(o *v1alpha1.EphemeralInfra) error {
			if late(o) {
				return nil
			}
			return phases(&o.Status.InfraStatus, v1alpha1.PhaseDeployed, "web=Deployed")
		})
		if !late(o) {
			return o
		}
		if left == ttl {
			t.Fatalf("not deployed within %s", ttl)
		}
	}
}

// late says whether the deadline was there first.
func late(o *v1alpha1.EphemeralInfra) bool {
	return o.Status.EndedAt != nil || o.DeletionTimestamp != nil || meta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionExpiredAtFirstSight)
}

// followEphemeral is the history of one from a state of it on.
func followEphemeral(t *testing.T, o *v1alpha1.EphemeralInfra) *history[*v1alpha1.EphemeralInfra] {
	t.Helper()
	return follow[*v1alpha1.EphemeralInfra](t, ephemeralInfras().Watch, metav1.ListOptions{
		FieldSelector: "metadata.name=" + o.Name, ResourceVersion: o.ResourceVersion,
	})
}

// ended awaits that one ended by its deadline, has gone and taken its record along, and
// says whether it ended once.
func ended(t *testing.T, a *harness.Account, o *v1alpha1.EphemeralInfra, h *history[*v1alpha1.EphemeralInfra]) {
	t.Helper()
	gone(t, func(ctx context.Context) error {
		_, err := ephemeralInfras().Get(ctx, o.Name, metav1.GetOptions{ResourceVersion: "0"})
		return err
	})
	h.await(t, "Ending", func(e event[*v1alpha1.EphemeralInfra]) bool { return e.object.Status.Phase == v1alpha1.PhaseEnding })
	all, err := h.all()
	if err != nil {
		t.Error(err)
	}
	ends := map[string]bool{}
	for _, e := range all {
		if s := e.object.Status; s.EndedAt != nil {
			ends[fmt.Sprint(s.EndReason, s.EndedAt.UTC())] = true
			if s.EndedAt.Before(s.ExpiresAt) || s.EndReason != v1alpha1.EndedDeadline {
				t.Errorf("ended at %s (%s), the deadline is %s", s.EndedAt, s.EndReason, s.ExpiresAt)
			}
		}
	}
	if len(ends) != 1 {
		t.Errorf("it ended as %v", ends)
	}
	awaitNoRecord(t, a, harness.EphemeralInfraCollection, o.Name)
}

// ACC29-EPHEMERAL-END: at its deadline an EphemeralInfra with a held contract ends: the
// contract is released, and then it goes with its record.
func TestEphemeralEnd(t *testing.T) {
	t.Parallel()
	alice, f := plane.Account(t, "alice"), plane.Fulfiller(t)
	contracts := followContracts(t)
	calm.Lock()
	o := deployedWithDeadline(t, alice, f, leftAtFirst)
	calm.Unlock()
	h := followEphemeral(t, o)
	if want := o.CreationTimestamp.Add(ttl); !o.Status.ExpiresAt.Time.Equal(want) {
		t.Errorf("expiresAt %s, want %s", o.Status.ExpiresAt, want)
	}
	ended(t, alice, o, h)
	contracts.deleted(t, o.Name)
}
