package manifests

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const certificateFile = "serving-certificate.yaml"

// servingCertificate is what the server needs to keep its own certificate: one
// Secret that all replicas share, and one field of one APIService.
func servingCertificate() []Object {
	objects := []runtime.Object{
		emptySecret(ServingSecret, containerName),
		secretRole(ServingSecret, append([]string{"update"}, reading...), ServingSecret),
		roleBinding(ServingSecret, Namespace, ServingSecret, Name),
		&rbacv1.ClusterRole{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
			ObjectMeta: clusterScoped(ServingSecret),
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"},
				ResourceNames: []string{APIServiceName}, Verbs: []string{"get", "patch"},
			}},
		},
		clusterRoleBinding(ServingSecret, ServingSecret, Name),
	}
	docs := []string{
		"The server fills it in. It is here, empty, so that the server needn't be allowed to\n" +
			"create Secrets: that can't be limited to one name.",
		"", "",
		"The server writes the authority of its certificate into the caBundle.",
		"",
	}
	out := make([]Object, len(objects))
	for i, o := range objects {
		out[i] = Object{File: certificateFile, Doc: docs[i], When: ownCertificate, Typed: o}
	}
	return out
}

// emptySecret is one whose owner fills it in. Applying it again leaves what it
// holds alone, since it names no key.
func emptySecret(name, component string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: inNamespace(name, component),
		Type:       corev1.SecretTypeOpaque,
	}
}
