package main

import (
	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const exportComment = `# What a workspace binds to have our kinds. Their objects are in no etcd of kcp: a shard
# sends each request of theirs to the server that the InfraEndpointSlice names.
`

// apiExport of all kinds.
func apiExport(schemas []*apisv1alpha1.APIResourceSchema) *apisv1alpha2.APIExport {
	e := &apisv1alpha2.APIExport{
		TypeMeta:   metav1.TypeMeta{APIVersion: apisv1alpha2.SchemeGroupVersion.String(), Kind: "APIExport"},
		ObjectMeta: metav1.ObjectMeta{Name: "computecontracts", Labels: labels()},
		Spec: apisv1alpha2.APIExportSpec{
			// What tenants may do is in maximal-permission-policy.yaml.
			MaximalPermissionPolicy: &apisv1alpha2.MaximalPermissionPolicy{Local: &apisv1alpha2.LocalAPIExportPolicy{}},
			// Credentials of the accounts of a workspace. It accepts the claim for those
			// of its Secrets that it labels.
			PermissionClaims: []apisv1alpha2.PermissionClaim{{
				GroupResource: apisv1alpha2.GroupResource{Resource: "secrets"},
				Verbs:         []string{"get"},
				DefaultSelector: &apisv1alpha2.PermissionClaimSelector{LabelSelector: metav1.LabelSelector{
					MatchLabels: map[string]string{"infra.socialweb.computer/credentials": "true"},
				}},
			}},
		},
	}
	for _, s := range schemas {
		e.Spec.Resources = append(e.Spec.Resources, apisv1alpha2.ResourceSchema{
			Name: s.Spec.Names.Plural, Group: s.Spec.Group, Schema: s.Name,
			Storage: apisv1alpha2.ResourceSchemaStorage{Virtual: &apisv1alpha2.ResourceSchemaStorageVirtual{
				Reference: corev1.TypedLocalObjectReference{
					APIGroup: ptr.To("kcp.socialweb.computer"), Kind: "InfraEndpointSlice", Name: "infra",
				},
				IdentityHash: "infra-apiserver",
			}},
		})
	}
	return e
}
