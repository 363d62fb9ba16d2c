package manifests

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// injectAnnotation has cert-manager write the authority of a Certificate into the
// object that carries it.
const injectAnnotation = "cert-manager.io/inject-ca-from"

// registration of the API group with the cluster.
func registration() []Object {
	return []Object{{
		File: "apiservice.yaml",
		Doc: "Hands the group over to the server. Without a caBundle the cluster trusts only\n" +
			"public authorities, so nothing is served until whoever keeps the certificate has\n" +
			"written its authority here. The priorities are those of a CRD.",
		Typed: &apiregistrationv1.APIService{
			TypeMeta: metav1.TypeMeta{APIVersion: apiregistrationv1.SchemeGroupVersion.String(), Kind: "APIService"},
			ObjectMeta: metav1.ObjectMeta{
				Name: APIServiceName, Labels: labels(containerName),
				Annotations: map[string]string{injectAnnotation: Namespace + "/" + ServingSecret},
			},
			Spec: apiregistrationv1.APIServiceSpec{
				Group:                Group,
				Version:              Version,
				GroupPriorityMinimum: 1000,
				VersionPriority:      100,
				Service:              &apiregistrationv1.ServiceReference{Namespace: Namespace, Name: Name, Port: ptr[int32](443)},
			},
		},
		Items: []Item{{certManager, []string{"metadata", "annotations"}}},
	}}
}
