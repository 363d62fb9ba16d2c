//go:build e2e

package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// Whoever may write collections can't let foreign records run: that takes the verb
// execute, which the cluster's admin role has and edit has not. The server asks the
// cluster for it.
func TestFollowNeedsExecute(t *testing.T) {
	t.Parallel()
	const editor, owner = harness.Namespace + ":collector", harness.Namespace + ":executor"
	bindRole(t, "collector", "edit")
	bindRole(t, "executor", "admin")
	// The roles are put together by a controller; the server remembers what it was told.
	await := func(user, verb string) {
		t.Helper()
		harness.Eventually(t, func(ctx context.Context) error {
			r, err := plane.Admin().Core.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: verb, Group: v1alpha1.GroupName, Resource: "infracollections",
				}},
			}, metav1.CreateOptions{})
			if err == nil && !r.Status.Allowed {
				err = errors.New(user + " may not " + verb)
			}
			return err
		})
	}
	name := harness.Name(t)
	create := func(user string, e v1alpha1.ExecutionPolicy) (*v1alpha1.InfraCollection, error) {
		return harness.NewClients(t, plane.ConfigFor(t, user)).Infra.SocialwebV1alpha1().InfraCollections().Create(t.Context(), &v1alpha1.InfraCollection{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1alpha1.InfraCollectionSpec{RepoRef: v1alpha1.RepoReference{Name: name}, Execution: e},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	await(editor, "create")
	if c, err := create(editor, v1alpha1.ExecutionObserveOnly); err != nil || c.Status.ExecuteGranted {
		t.Errorf("ObserveOnly by an editor: %v", harness.Explain(err))
	}
	_, err := create(editor, v1alpha1.ExecutionFollow)
	if !apierrors.IsForbidden(err) {
		t.Fatalf("Follow by an editor: %v, want 403", err)
	}
	for _, part := range []string{`"execute"`, "infracollections.socialweb.computer", name, "ObserveOnly"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v lacks %s", err, part)
		}
	}
	await(owner, "create")
	await(owner, "execute")
	if c, err := create(owner, v1alpha1.ExecutionFollow); err != nil || !c.Status.ExecuteGranted {
		t.Errorf("Follow by an owner: %+v, %v", c, harness.Explain(err))
	}
}
