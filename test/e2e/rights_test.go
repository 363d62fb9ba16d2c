//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// right is a request with its verb as RBAC has it. None of them changes anything.
type right struct {
	verb, method, suffix, body, contentType string
	group                                   string // of the rules: read, write, status
}

var rights = []right{
	{"get", http.MethodGet, "/x", "", "", "read"},
	{"list", http.MethodGet, "", "", "", "read"},
	{"watch", http.MethodGet, "?watch=1&resourceVersion=1", "", "", "read"},
	{"create", http.MethodPost, "?dryRun=All", "{}", "application/json", "write"},
	{"update", http.MethodPut, "/x?dryRun=All", "{}", "application/json", "write"},
	{"patch", http.MethodPatch, "/x?dryRun=All", "{}", mergePatch, "write"},
	{"delete", http.MethodDelete, "/x?dryRun=All", "", "", "write"},
	// Of nothing: the webhooks of other tests deny the deletion of their objects.
	{"deletecollection", http.MethodDelete, "?dryRun=All&labelSelector=is%3Dnowhere", "", "", "write"},
	{"update", http.MethodPut, "/x/status?dryRun=All", "{}", "application/json", "status"},
	{"patch", http.MethodPatch, "/x/status?dryRun=All", "{}", mergePatch, "status"},
}

// Who may what, through the aggregator: the cluster's own roles view, edit and admin
// have our kinds in them; whoever may not gets a 403 that names verb and resource.
func TestRights(t *testing.T) {
	t.Parallel()
	all := "read write status"
	deployments := map[string]string{"viewer": "read", "editor": "read write", "owner": "read write", "admin": all, "nobody": "", "": ""}
	repos := map[string]string{"viewer": "read", "editor": "read", "owner": "read write", "admin": all, "nobody": "", "": ""}
	for user, role := range map[string]string{"viewer": "view", "editor": "edit", "owner": "admin"} {
		bindRole(t, user, role)
	}
	for user := range deployments {
		t.Run("user "+user, func(t *testing.T) {
			t.Parallel()
			config, name := plane.Anonymous(), "system:anonymous"
			switch user {
			case "":
			case "admin":
				config = plane.Config()
			default:
				name = harness.Namespace + ":" + user
				config = plane.ConfigFor(t, name)
			}
			c := newCaller(t, config)
			if strings.Contains(deployments[user], "read") {
				// The role is put together by a controller.
				harness.Eventually(t, func(context.Context) error {
					if r := c.ask(t, http.MethodGet, base+"/infras/x", ""); r.code == http.StatusForbidden {
						return fmt.Errorf("%s", r.body)
					}
					return nil
				})
			}
			for _, kind := range kinds {
				may := deployments[user]
				if kind.resource == "atprotorepos" {
					may = repos[user]
				}
				checkRights(t, c, name, kind.resource, may)
			}
		})
	}
}

func checkRights(t *testing.T, c caller, user, resource, may string) {
	t.Helper()
	for _, r := range rights {
		full := resource
		if r.group == "status" {
			full += "/status"
		}
		got := c.begin(t, r.method, base+"/"+resource+r.suffix, r.body, "Content-Type: "+r.contentType)
		if strings.Contains(may, r.group) {
			if got.code == http.StatusForbidden || got.code == http.StatusUnauthorized || got.code >= 500 {
				t.Errorf("%s %s: %d %s", r.verb, full, got.code, got.body)
			}
			continue
		}
		want := fmt.Sprintf("User %q cannot %s resource %q in API group \"socialweb.computer\"", user, r.verb, full)
		if s := got.fault; got.code != http.StatusForbidden || s.Reason != metav1.StatusReasonForbidden || !strings.Contains(s.Message, want) {
			t.Errorf("%s %s: %d %s, want 403 with %q", r.verb, full, got.code, got.body, want)
		}
	}
}

// bindRole gives a user one of the cluster's roles for the test.
func bindRole(t *testing.T, user, role string) {
	t.Helper()
	bindings := plane.Admin().Core.RbacV1().ClusterRoleBindings()
	name := harness.Name(t)
	if _, err := bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: harness.Namespace + ":" + user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bindings.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}
