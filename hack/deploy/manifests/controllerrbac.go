package manifests

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const controllerRBACFile = "controller-rbac.yaml"

// eventsNamespace is where Kubernetes keeps the Events of objects that have no
// namespace, as all of ours.
const eventsNamespace = metav1.NamespaceDefault

// controllerIdentity is whom the controller's pods are, and what that account may do:
// it keeps what deployments declare, by ComputeContracts. It reads no Secret, and
// writes no declaration.
func controllerIdentity() []Object {
	events := []rbacv1.PolicyRule{{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch", "update"}}}
	objects := []Object{{
		Typed: &corev1.ServiceAccount{
			TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta:                   inNamespace(ControllerName, controllerContainer),
			AutomountServiceAccountToken: ptr(false),
		},
	}, {
		Doc: "Reads what is declared, writes how far it has come, and makes, releases and deletes\n" +
			"the ComputeContracts.",
		Typed: &rbacv1.ClusterRole{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
			ObjectMeta: ofController(ControllerName, ""),
			Rules:      controllerRules(),
		},
	}, {
		Typed: clusterRoleBinding(ControllerName, ControllerName, ControllerName),
	}, {
		Doc: "One replica acts at a time, and which one that is a Lease says. (A rule that names an\n" +
			"object can't allow to create it.)",
		Typed: controllerRole(ControllerName, Namespace, append([]rbacv1.PolicyRule{
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{ControllerName}, Verbs: []string{"get", "update"}},
		}, events...)),
	}, {
		Typed: roleBinding(ControllerName, Namespace, ControllerName, ControllerName),
	}, {
		Doc:   "Events of objects without a namespace are in this one.",
		Typed: controllerRole(ControllerName+"-events", eventsNamespace, events),
	}, {
		Typed: roleBinding(ControllerName+"-events", eventsNamespace, ControllerName+"-events", ControllerName),
	}}
	for i := range objects {
		objects[i].File, objects[i].When = controllerRBACFile, hasController
	}
	return objects
}

// controllerRules are its rights in the whole cluster, where our kinds are.
func controllerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule(reading, slices.Concat(repositories, collections)),
		// Finalizers are in the metadata; the controller sets and removes its own.
		rule(slices.Concat(reading, []string{"patch"}), deployments),
		rule([]string{"update"}, []string{"ephemeralinfras/status", "infras/status"}),
		// An ephemeral one that has ended is deleted.
		rule([]string{"delete"}, []string{"ephemeralinfras"}),
		// Some clusters ask it of whoever names an owner whose deletion has to wait.
		rule([]string{"update"}, []string{"ephemeralinfras/finalizers", "infras/finalizers"}),
		rule(slices.Concat(reading, []string{"create", "delete", "patch"}), contracts),
		// One that nobody has taken on is released by its status.
		rule([]string{"patch"}, []string{"computecontracts/status"}),
	}
}

// controllerRole is a Role of the controller's in a namespace.
func controllerRole(name, namespace string, rules []rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: ofController(name, namespace),
		Rules:      rules,
	}
}

func ofController(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels(controllerContainer)}
}
