//go:build e2e

package contracts

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// ACC29-CONFLICT (a): while a repository's access is withdrawn, a patch is refused with
// the reason and stored nowhere. What the record's owner writes meanwhile is what the
// object declares once the access is back.
func TestConflictAccessWithdrawn(t *testing.T) {
	t.Parallel()
	bob := plane.Account(t, withdrawn)
	plane.NewRepo(t, withdrawn, bob)
	name := bound(t, withdrawn)
	before := settled(t, bob, name)
	cid := record(t, bob, name).CID

	setAccess(t, withdrawn, v1alpha1.AccessNone)
	said := plane.Kubectl(t).Fails(t, "", "patch", "infra", name, "--type=merge", "-p", `{"spec":{"description":"lost"}}`)
	for _, part := range []string{"Forbidden", withdrawn, string(v1alpha1.AccessNone)} {
		if !strings.Contains(said, part) {
			t.Errorf("the refusal doesn't tell %q: %s", part, said)
		}
	}
	stored, err := infras().Get(t.Context(), name, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil || stored.Spec.Description != before.Spec.Description || stored.Generation != before.Generation {
		t.Errorf("after the refusal: %v %+v", err, stored.Spec)
	}
	if r := record(t, bob, name); r.CID != cid {
		t.Errorf("the record was written: %v", r.Value)
	}
	if _, err := bob.Edit(t.Context(), harness.InfraCollection, name, func(value map[string]any) {
		value["description"] = "the record's"
		addContract(value, "db")
	}); err != nil {
		t.Fatal(err)
	}

	setAccess(t, withdrawn, v1alpha1.AccessReadWrite)
	awaitInfra(t, name, func(o *v1alpha1.Infra) error { return declared(o, record(t, bob, name).Value) })
	if got := record(t, bob, name).Value["description"]; got != "the record's" {
		t.Errorf("in the end the record's description is %q", got)
	}
}

// setAccess of an AtprotoRepo, and wait until it is in effect everywhere.
func setAccess(t *testing.T, repo string, access v1alpha1.RepoAccess) {
	t.Helper()
	repos := plane.Admin().Infra.SocialwebV1alpha1().AtprotoRepos()
	if _, err := repos.Patch(t.Context(), repo, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"access":%q}}`, access), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, repos.Watch, repo, func(o *v1alpha1.AtprotoRepo) error {
		if o.Status.Access != access {
			return fmt.Errorf("status.access is %s", o.Status.Access)
		}
		return nil
	})
	plane.Granted(t, repo, access)
}

// ACC29-CONFLICT (b): a record is edited while our put of it is on its way. The record
// wins: the writer gets 409, the object declares what the record does, and says so.
func TestConflictRaced(t *testing.T) {
	t.Parallel()
	carol := plane.Account(t, raced)
	proxy, err := testproxy.New(plane.PDS.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() }) // the server's own connections are cut, as it should
	plane.NewRepo(t, raced, carol, func(r *v1alpha1.AtprotoRepo) { r.Spec.PDS = proxy.URL() })
	name := bound(t, raced)
	// The condition is about the last change: where a status of ours was published after
	// the edit and before the 409, which takes a slow machine, it isn't told.
	for attempt := 1; ; attempt++ {
		o := loses(t, carol, proxy, name, fmt.Sprint("the record's ", attempt))
		err := condition(o.Status.Conditions, v1alpha1.ConditionSyncConflict, metav1.ConditionTrue, v1alpha1.ReasonRecordWon)
		if err == nil {
			break
		}
		if attempt == races {
			t.Fatalf("in %d races: %v", races, err)
		}
	}
	// The next write that succeeds clears it.
	plane.Kubectl(t).Run(t, "patch", "infra", name, "--type=merge", "-p", `{"spec":{"description":"after"}}`)
	awaitInfra(t, name, func(o *v1alpha1.Infra) error {
		return condition(o.Status.Conditions, v1alpha1.ConditionSyncConflict, metav1.ConditionFalse, v1alpha1.ReasonNoConflict)
	})
}

// races are run until one says who lost.
const races = 5

// loses edits a record while an update of its Infra is on its way to it. It returns the
// Infra, which declares what the record does.
func loses(t *testing.T, a *harness.Account, proxy *testproxy.Proxy, name, edited string) *v1alpha1.Infra {
	t.Helper()
	o := settled(t, a, name)
	var edit error
	proxy.Set(testproxy.Fault{Times: 1, Before: func() {
		_, edit = a.Edit(context.WithoutCancel(t.Context()), harness.InfraCollection, name, func(value map[string]any) { value["description"] = edited })
	}}, "com.atproto.repo.putRecord")
	o.Spec.Description = "lost"
	if _, err := infras().Update(t.Context(), o, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("the update: %v, want 409", err)
	}
	if edit != nil {
		t.Fatal(edit)
	}
	// Not from a cache, which may not have come to the refusal yet.
	o, err := infras().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(harness.Explain(err))
	}
	r := record(t, a, name).Value
	if err := declared(o, r); err != nil || o.Spec.Description != edited {
		t.Errorf("after the refusal: %q, %v", o.Spec.Description, err)
	}
	return o
}
