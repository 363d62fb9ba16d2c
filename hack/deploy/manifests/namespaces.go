package manifests

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const namespacesFile = "namespaces.yaml"

// namespaces of the server and of the credentials, and what the first may hold.
func namespaces() []Object {
	return []Object{{
		File: namespacesFile,
		Doc:  "Where the server runs. Its pods keep to the strictest standard.",
		Typed: &corev1.Namespace{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: Namespace, Labels: map[string]string{
				nameLabel:                                    Name,
				"pod-security.kubernetes.io/enforce":         "restricted",
				"pod-security.kubernetes.io/enforce-version": "latest",
			}},
		},
		KustomizeOnly: true,
	}, {
		File: namespacesFile,
		Doc: "Holds the credentials of accounts as Secrets <workspace>.<name>. The server may\n" +
			"read every Secret here, so keep nothing else here.",
		When: makesCredentials,
		Typed: &corev1.Namespace{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{
				Name:   CredentialsNamespace,
				Labels: map[string]string{nameLabel: Name},
				// The passwords outlive a release of the chart.
				Annotations: map[string]string{"helm.sh/resource-policy": "keep"},
			},
		},
	}, {
		File: "quota.yaml",
		Doc: "Some clusters admit pods of a system priority only where a quota allows for them.\n" +
			"Until this server is back, nobody's namespace can be deleted: hence the priority.",
		When: hasPriority,
		Typed: &corev1.ResourceQuota{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"},
			ObjectMeta: inNamespace(Name+"-critical", containerName),
			Spec: corev1.ResourceQuotaSpec{
				Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("20")},
				ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{
					ScopeName: corev1.ResourceQuotaScopePriorityClass,
					Operator:  corev1.ScopeSelectorOpIn,
					Values:    []string{priorityClass},
				}}},
			},
		},
	}}
}
