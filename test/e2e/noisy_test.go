//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// A noisy user is held back by the cluster's own flow schemas, with 429 and when to
// come again; nobody else notices (kubernetes-sigs/kueue#1430).
func TestNoisyUserIsHeldBack(t *testing.T) {
	t.Parallel()
	name := harness.Name(t)
	const list = "/apis/socialweb.computer/v1alpha1/infras?resourceVersion=0"
	makeFlow(t, name)
	replica := plane.Replicas[0]
	noisy := asker(t, replica.Direct(plane.ConfigFor(t, name)))
	others := asker(t, replica.Direct(plane.Config()))
	// Once the replica knows of the flow schema: two at a time, and none waits. A watch
	// counts while it begins, so that lists it is.
	harness.Eventually(t, func(ctx context.Context) error {
		var refused, served atomic.Int32
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				for range 4 {
					switch status, header, err := noisy(ctx, list); {
					case err != nil:
						t.Error(err)
					case status == http.StatusOK:
						served.Add(1)
					case status == http.StatusTooManyRequests:
						refused.Add(1)
						if after, err := strconv.Atoi(header.Get("Retry-After")); err != nil || after < 1 {
							t.Errorf("429 with Retry-After %q", header.Get("Retry-After"))
						}
					case status != http.StatusForbidden: // the replica doesn't know of the rights yet
						t.Errorf("the noisy user: %d", status)
					}
				}
			})
		}
		for range 10 {
			if status, _, err := others(ctx, list); err != nil || status != http.StatusOK {
				t.Errorf("another user meanwhile: %d %v", status, err)
			}
		}
		wg.Wait()
		if refused.Load() == 0 || served.Load() == 0 {
			return fmt.Errorf("of 120 requests, %d were refused and %d served", refused.Load(), served.Load())
		}
		return nil
	})
	metrics, err := plane.Metrics(t.Context(), replica)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`apiserver_flowcontrol_rejected_requests_total{flow_schema="` + name + `",priority_level="` + name + `"`,
		`apiserver_flowcontrol_dispatched_requests_total{flow_schema="exempt"`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
}

// makeFlow gives a user rights, and a priority level that holds back what it asks for.
func makeFlow(t *testing.T, user string) {
	t.Helper()
	core, ctx := plane.Admin().Core, context.WithoutCancel(t.Context())
	level := &flowcontrolv1.PriorityLevelConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
			Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: ptr.To(int32(1)), LendablePercent: ptr.To(int32(0)), BorrowingLimitPercent: ptr.To(int32(0)),
				LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
			},
		},
	}
	schema := &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: user},
			MatchingPrecedence:         2,
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects: []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: user}}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
					Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}, ClusterScope: true, Namespaces: []string{"*"},
				}},
			}},
		},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	_, err := core.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	_, err2 := core.FlowcontrolV1().PriorityLevelConfigurations().Create(ctx, level, metav1.CreateOptions{})
	_, err3 := core.FlowcontrolV1().FlowSchemas().Create(ctx, schema, metav1.CreateOptions{})
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(
			core.FlowcontrolV1().FlowSchemas().Delete(ctx, user, metav1.DeleteOptions{}),
			core.FlowcontrolV1().PriorityLevelConfigurations().Delete(ctx, user, metav1.DeleteOptions{}),
			core.RbacV1().ClusterRoleBindings().Delete(ctx, user, metav1.DeleteOptions{}),
		); err != nil {
			t.Error(err)
		}
	})
}

// asker asks for paths as a user, without trying again.
func asker(t *testing.T, c *rest.Config) func(ctx context.Context, path string) (int, http.Header, error) {
	t.Helper()
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, path string) (int, http.Header, error) {
		a, err := testhttp.Get(ctx, client, c.Host+path)
		return a.Status, a.Header, err
	}
}
