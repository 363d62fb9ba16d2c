package manifests

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const rbacFile = "rbac.yaml"

var reading = []string{"get", "list", "watch"}

// identity that the server's pods have.
func identity() []Object {
	return []Object{{
		File: "serviceaccount.yaml",
		Typed: &corev1.ServiceAccount{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: inNamespace(Name, containerName),
			// The pod asks for its token itself.
			AutomountServiceAccountToken: ptr(false),
		},
	}}
}

// rbac is what the server may do in the cluster: what every aggregated API server
// needs, and the Secrets of one namespace.
func rbac() []Object {
	return []Object{{
		File:  rbacFile,
		Doc:   "Asks the cluster who a client is and what it may do.",
		Typed: clusterRoleBinding(Name+":system:auth-delegator", "system:auth-delegator", Name),
	}, {
		File: rbacFile,
		Doc: "Reads the one ConfigMap that names the authorities of client certificates and of\n" +
			"the front proxy. Without it nobody's identity could be believed.",
		Typed: roleBinding(Name+"-authentication-reader", "kube-system", "extension-apiserver-authentication-reader", Name),
	}, {
		File: rbacFile,
		Doc:  "What the stock admission plug-ins, and priority and fairness, watch in the cluster.",
		Typed: &rbacv1.ClusterRole{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
			ObjectMeta: clusterScoped(Name),
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: reading,
			}, {
				APIGroups: []string{"admissionregistration.k8s.io"}, Verbs: reading,
				Resources: []string{
					"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
					"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
				},
			}, {
				APIGroups: []string{"flowcontrol.apiserver.k8s.io"}, Verbs: reading,
				Resources: []string{"flowschemas", "prioritylevelconfigurations"},
			}, {
				// Priority and fairness notes there that a schema names no level.
				APIGroups: []string{"flowcontrol.apiserver.k8s.io"}, Verbs: []string{"patch"},
				Resources: []string{"flowschemas/status"},
			}},
		},
	}, {
		File:  rbacFile,
		Typed: clusterRoleBinding(Name, Name, Name),
	}, {
		File: rbacFile,
		Doc:  "The credentials of accounts: each is read by its name, when it is needed.",
		Typed: &rbacv1.Role{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
			ObjectMeta: metav1.ObjectMeta{Name: Name, Namespace: CredentialsNamespace, Labels: labels(containerName)},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}},
		},
	}, {
		File:  rbacFile,
		Typed: roleBinding(Name, CredentialsNamespace, Name, Name),
	}}
}

func subjects(account string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: Namespace}}
}

// clusterRoleBinding gives a service account of ours a role in the whole cluster.
func clusterRoleBinding(name, role, account string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels(component(account))},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   subjects(account),
	}
}

// roleBinding gives a service account of ours a Role of the namespace.
func roleBinding(name, namespace, role, account string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels(component(account))},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   subjects(account),
	}
}

// secretRole reads and writes the Secrets of these names in the server's namespace.
func secretRole(name string, verbs []string, secrets ...string) *rbacv1.Role {
	return &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: inNamespace(name, containerName),
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: secrets, Verbs: verbs,
		}},
	}
}
