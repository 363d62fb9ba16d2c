package render

import (
	"testing"

	certv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/yaml"
)

// What the tools render are objects of known kinds, without a field that they don't
// have.
func TestStrictlyTyped(t *testing.T) {
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiregistrationv1.AddToScheme, certv1.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(kinds, serializer.EnableStrict).UniversalDeserializer()
	for _, v := range variants {
		for _, rendered := range []map[string]any{kustomize(t, v.components...), helm(t, v.values)} {
			for id, tree := range rendered {
				b, err := yaml.Marshal(tree)
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := decoder.Decode(b, nil, nil); err != nil {
					t.Errorf("%s: %s: %v", v.name, id, err)
				}
			}
		}
	}
}
