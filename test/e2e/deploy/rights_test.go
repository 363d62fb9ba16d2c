//go:build e2e

package deploy

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

const (
	account = "system:serviceaccount:infra-system:infra-apiserver"
	group   = "socialweb.computer"
)

type right = authorizationv1.ResourceAttributes

// C37: what the server may do, as the cluster tells it: in its own namespace, in that
// of the credentials, and anywhere else.
func TestServersRights(t *testing.T) {
	k := plane.Kubectl(t)
	// The rest the plane has applied for its replicas.
	k.Run(t, "apply", "--server-side", "-f", servingCertificate)
	list := func(namespace string) string {
		return k.Run(t, "auth", "can-i", "--list", "--as="+account, "-n", namespace)
	}
	for namespace, want := range map[string]string{
		harness.Namespace:            "[get list update watch]",
		harness.CredentialsNamespace: "[get]",
		"default":                    "",
		"kube-system":                "",
	} {
		out := list(namespace)
		var secrets []string
		for line := range strings.Lines(out) {
			if strings.Contains(line, "*") && !strings.Contains(line, "/") { // discovery has paths with a star
				t.Errorf("%s: a wildcard: %s", namespace, line)
			}
			if strings.HasPrefix(line, "secrets") {
				secrets = append(secrets, line)
			}
		}
		switch {
		case want == "" && len(secrets) > 0, want != "" && (len(secrets) != 1 || !strings.Contains(sorted(secrets[0]), want)):
			t.Errorf("Secrets of %s: %q, want %q\n%s", namespace, secrets, want, out)
		}
	}
	const credentials, own, authentication, authorization = harness.CredentialsNamespace, harness.Namespace, "authentication.k8s.io", "authorization.k8s.io"
	const admission, registration = "admissionregistration.k8s.io", "apiregistration.k8s.io"
	for _, c := range []struct {
		allowed bool
		right
	}{
		{true, right{Verb: "create", Group: authorization, Resource: "subjectaccessreviews"}},
		{true, right{Verb: "create", Group: authentication, Resource: "tokenreviews"}},
		{true, right{Verb: "get", Resource: "configmaps", Name: "extension-apiserver-authentication", Namespace: "kube-system"}},
		{true, right{Verb: "watch", Group: admission, Resource: "validatingadmissionpolicies"}},
		{true, right{Verb: "get", Resource: "secrets", Name: "default.alice", Namespace: credentials}},
		{true, right{Verb: "patch", Group: registration, Resource: "apiservices", Name: harness.APIServiceName}},
		{false, right{Verb: "list", Resource: "secrets", Namespace: credentials}},
		{false, right{Verb: "get", Resource: "secrets", Name: "infra-apiserver-etcd-server", Namespace: own}},
		{false, right{Verb: "update", Resource: "secrets", Name: "other", Namespace: own}},
		{false, right{Verb: "create", Resource: "secrets", Namespace: own}},
		{false, right{Verb: "get", Resource: "secrets"}},
		{false, right{Verb: "patch", Group: registration, Resource: "apiservices", Name: "v1.apps"}},
		{false, right{Verb: "delete", Group: registration, Resource: "apiservices", Name: harness.APIServiceName}},
		{false, right{Verb: "get", Resource: "configmaps", Namespace: "kube-system"}},
		{false, right{Verb: "update", Group: admission, Resource: "validatingadmissionpolicies"}},
		{false, right{Verb: "list", Resource: "pods"}},
		{false, right{Verb: "impersonate", Resource: "users"}},
		{false, right{Verb: "get", Group: group, Resource: "infras"}},
	} {
		if got := may(t, c.right, account, "system:serviceaccounts", "system:serviceaccounts:"+own); got != c.allowed {
			t.Errorf("may it %+v: %t", c.right, got)
		}
	}
}

// What the controller may do, as the cluster tells it.
func TestControllersRights(t *testing.T) {
	const own, coordination, events = harness.Namespace, "coordination.k8s.io", "events.k8s.io"
	for _, c := range []struct {
		allowed bool
		right
	}{
		{true, right{Verb: "watch", Group: group, Resource: "infras"}},
		{true, right{Verb: "patch", Group: group, Resource: "ephemeralinfras"}},
		{true, right{Verb: "update", Group: group, Resource: "infras", Subresource: "status"}},
		{true, right{Verb: "update", Group: group, Resource: "infras", Subresource: "finalizers"}},
		{true, right{Verb: "delete", Group: group, Resource: "ephemeralinfras"}},
		{true, right{Verb: "create", Group: group, Resource: "computecontracts"}},
		{true, right{Verb: "patch", Group: group, Resource: "computecontracts", Subresource: "status"}},
		{true, right{Verb: "list", Group: group, Resource: "infracollections"}},
		{true, right{Verb: "create", Group: coordination, Resource: "leases", Namespace: own}},
		{true, right{Verb: "update", Group: coordination, Resource: "leases", Name: harness.ControllerAccount, Namespace: own}},
		{true, right{Verb: "create", Group: events, Resource: "events", Namespace: "default"}},
		{false, right{Verb: "update", Group: coordination, Resource: "leases", Name: "other", Namespace: own}},
		{false, right{Verb: "create", Group: coordination, Resource: "leases", Namespace: "kube-system"}},
		{false, right{Verb: "create", Group: events, Resource: "events", Namespace: "kube-system"}},
		{false, right{Verb: "delete", Group: group, Resource: "infras"}},
		{false, right{Verb: "create", Group: group, Resource: "infras"}},
		{false, right{Verb: "patch", Group: group, Resource: "atprotorepos"}},
		{false, right{Verb: "execute", Group: group, Resource: "infracollections"}},
		{false, right{Verb: "deletecollection", Group: group, Resource: "computecontracts"}},
		{false, right{Verb: "get", Resource: "secrets", Namespace: own}},
		{false, right{Verb: "get", Resource: "secrets", Namespace: harness.CredentialsNamespace}},
		{false, right{Verb: "create", Group: "authentication.k8s.io", Resource: "tokenreviews"}},
	} {
		who := "system:serviceaccount:" + own + ":" + harness.ControllerAccount
		if got := may(t, c.right, who, "system:serviceaccounts", "system:serviceaccounts:"+own); got != c.allowed {
			t.Errorf("may the controller %+v: %t", c.right, got)
		}
	}
}

// sorted is a line of can-i with its verbs in order.
func sorted(line string) string {
	i := strings.LastIndex(line, "[")
	verbs := strings.Fields(strings.Trim(strings.TrimSpace(line[i:]), "[]"))
	slices.Sort(verbs)
	return line[:i] + "[" + strings.Join(verbs, " ") + "]"
}

// What the cluster's own roles give of our kinds, once kube-controller-manager has put
// ours into them.
func TestUsersRights(t *testing.T) {
	users := map[string]string{"view": harness.Name(t), "edit": harness.Name(t), "admin": harness.Name(t)}
	for role, user := range users {
		b := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}
		if _, err := plane.Admin().Core.RbacV1().ClusterRoleBindings().Create(t.Context(), b, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	users["none"] = harness.Name(t)
	// The last thing to come is that an administrator may read: by view, and then by edit.
	harness.Eventually(t, func(context.Context) error {
		if !may(t, right{Verb: "create", Group: group, Resource: "atprotorepos"}, users["admin"]) ||
			!may(t, right{Verb: "create", Group: group, Resource: "infras"}, users["admin"]) ||
			!may(t, right{Verb: "list", Group: group, Resource: "infras"}, users["admin"]) {
			return errors.New("the roles aren't aggregated yet")
		}
		return nil
	})
	for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "execute"} {
		reads := slices.Contains([]string{"get", "list", "watch"}, verb)
		for _, resource := range []string{"infras", "ephemeralinfras", "infracollections", "ephemeralinfracollections", "computecontracts", "atprotorepos"} {
			for user, want := range map[string]bool{
				"none":  false,
				"view":  reads,
				"edit":  reads || resource != "atprotorepos" && verb != "execute",
				"admin": verb != "execute" || resource == "atprotorepos" || strings.HasSuffix(resource, "collections"),
			} {
				if got := may(t, right{Verb: verb, Group: group, Resource: resource}, users[user]); got != want {
					t.Errorf("may %s %s %s: %t", user, verb, resource, got)
				}
			}
		}
	}
	for user, name := range users {
		if may(t, right{Verb: "update", Group: group, Resource: "infras", Subresource: "status"}, name) {
			t.Errorf("%s may write statuses", user)
		}
	}
}

// may asks the cluster.
func may(t *testing.T, r right, user string, groups ...string) bool {
	t.Helper()
	review, err := plane.Admin().Core.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: append(groups, "system:authenticated"), ResourceAttributes: &r},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

func decode(t *testing.T, text string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
