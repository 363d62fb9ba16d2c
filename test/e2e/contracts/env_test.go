//go:build e2e

package contracts

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

func infras() typed.InfraInterface { return plane.Admin().Infra.SocialwebV1alpha1().Infras() }

// bound makes an Infra of one staged contract "web" with a record of its own in the
// repository of an AtprotoRepo; "": the default one.
func bound(t *testing.T, repo string, change ...func(*v1alpha1.Infra)) string {
	t.Helper()
	return plane.Infra(t, append(change, func(o *v1alpha1.Infra) {
		if repo != "" {
			o.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: repo}}
		}
	})...)
}

// awaitInfra waits until an Infra is as it should be.
func awaitInfra(t *testing.T, name string, ask func(*v1alpha1.Infra) error) *v1alpha1.Infra {
	t.Helper()
	return harness.Await(t, infras().Watch, name, ask)
}

// settled waits until an Infra of one staged contract is at rest: the controller has said
// what it makes of it, and the record has that. Nobody writes it then but the test.
func settled(t *testing.T, a *harness.Account, name string) *v1alpha1.Infra {
	t.Helper()
	awaitRecord(t, a, harness.InfraCollection, name, hasPhase("staged", "web=staged"))
	cid := record(t, a, name).CID
	return awaitInfra(t, name, func(o *v1alpha1.Infra) error {
		if r := o.Status.Record; r == nil || r.CID != cid || r.Direction != v1alpha1.DirectionInSync {
			return fmt.Errorf("status.record %+v, the record's cid is %s", r, cid)
		}
		return inPhase(v1alpha1.PhaseStaged, "web=Staged")(o)
	})
}

// record of an account, which must be there.
func record(t *testing.T, a *harness.Account, rkey string) *harness.Record {
	t.Helper()
	r, err := a.Get(t.Context(), harness.InfraCollection, rkey)
	if err != nil {
		t.Fatal(err)
	}
	if r == nil {
		t.Fatalf("no record %s", a.URI(harness.InfraCollection, rkey))
	}
	return r
}

// awaitRecord waits until a record is as it should be.
func awaitRecord(t *testing.T, a *harness.Account, collection, rkey string, ask func(value map[string]any) error) {
	t.Helper()
	harness.Eventually(t, func(ctx context.Context) error {
		r, err := a.Get(ctx, collection, rkey)
		if err != nil {
			return err
		}
		if r == nil {
			return errors.New("there is no record")
		}
		if err := ask(r.Value); err != nil {
			return fmt.Errorf("record %v: %w", r.Value, err)
		}
		return nil
	})
}

// awaitNoRecord waits until a record is gone.
func awaitNoRecord(t *testing.T, a *harness.Account, collection, rkey string) {
	t.Helper()
	harness.Eventually(t, func(ctx context.Context) error {
		r, err := a.Get(ctx, collection, rkey)
		if err == nil && r != nil {
			err = fmt.Errorf("record %s is still there", r.URI)
		}
		return err
	})
}

// contracts of a record, as NAME=STATE.
func contracts(value map[string]any) []string {
	var out []string
	list, _ := value["contracts"].([]any)
	for _, e := range list {
		c, _ := e.(map[string]any)
		out = append(out, fmt.Sprintf("%v=%v", c["name"], c["state"]))
	}
	return out
}

// hasPhase says whether a record's status has a phase, and those of contracts, as
// NAME=PHASE.
func hasPhase(phase string, contracts ...string) func(map[string]any) error {
	return func(value map[string]any) error {
		status, _ := value["status"].(map[string]any)
		list, _ := status["contracts"].([]any)
		var got []string
		for _, e := range list {
			c, _ := e.(map[string]any)
			got = append(got, fmt.Sprintf("%v=%v", c["name"], c["phase"]))
		}
		if status["phase"] != phase || fmt.Sprint(got) != fmt.Sprint(contracts) {
			return fmt.Errorf("status %v %v, want %s %v", status["phase"], got, phase, contracts)
		}
		return nil
	}
}

// addContract declares a staged contract in a record.
func addContract(value map[string]any, name string) {
	list, _ := value["contracts"].([]any)
	value["contracts"] = append(list, map[string]any{"name": name, "state": "staged"})
}

// declared says what differs between an object's declaration and a record's.
func declared(o *v1alpha1.Infra, value map[string]any) error {
	var own []string
	for _, c := range o.Spec.Contracts {
		own = append(own, c.Name+"="+map[v1alpha1.ContractState]string{
			v1alpha1.ContractStaged: "staged", v1alpha1.ContractRequested: "requested", v1alpha1.ContractReleased: "released",
		}[c.State])
	}
	if theirs := contracts(value); o.Spec.Description != value["description"] || fmt.Sprint(own) != fmt.Sprint(theirs) {
		return fmt.Errorf("the object declares %q %v, the record %q %v", o.Spec.Description, own, value["description"], theirs)
	}
	return nil
}

// condition that must hold.
func condition(list []metav1.Condition, kind string, status metav1.ConditionStatus, reason string) error {
	c := meta.FindStatusCondition(list, kind)
	if c == nil || c.Status != status || c.Reason != reason {
		return fmt.Errorf("condition %s: %+v, want %s %s", kind, c, status, reason)
	}
	return nil
}

// gone waits until a GET finds nothing.
func gone(t *testing.T, get func(context.Context) error) {
	t.Helper()
	harness.Eventually(t, func(ctx context.Context) error { return harness.IsGone(get(ctx)) })
}

// infraGone waits until an Infra is.
func infraGone(t *testing.T, name string) {
	t.Helper()
	gone(t, func(ctx context.Context) error {
		// From the cache: no PDS has to be asked.
		_, err := infras().Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
		return err
	})
	if _, err := infras().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("Infra %s: %v", name, err)
	}
}
