package servingcert

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// APIServices is the resource that tells kube-apiserver whom to trust.
var APIServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// automanaged marks an APIService that kube-apiserver made for CRDs.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// errNotOurs is an APIService that points at no Service: CRDs serve it.
var errNotOurs = errors.New("the APIService is that of CustomResourceDefinitions, it is left alone")

// registration is the APIService whose caBundle follows the Secret. Its zero value
// is none: clients learn whom to trust by other ways.
type registration struct {
	client dynamic.ResourceInterface
	name   string
}

// registered is what an APIService says of trust.
type registered struct {
	bundle []byte
	rv     string
}

// get reads the APIService; nil where there is none.
func (r registration) get(ctx context.Context) (*registered, error) {
	if r.client == nil {
		return nil, nil
	}
	obj, err := r.client.Get(ctx, r.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("APIService %s: %w", r.name, err)
	}
	if service, ok, _ := unstructured.NestedMap(obj.Object, "spec", "service"); !ok || len(service) == 0 || obj.GetLabels()[automanaged] != "" {
		return nil, fmt.Errorf("APIService %s: %w", r.name, errNotOurs)
	}
	encoded, _, err := unstructured.NestedString(obj.Object, "spec", "caBundle")
	if err != nil {
		return nil, fmt.Errorf("APIService %s: %w", r.name, err)
	}
	bundle, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("APIService %s: caBundle: %w", r.name, err)
	}
	return &registered{bundle: bundle, rv: obj.GetResourceVersion()}, nil
}

// put makes bundle the APIService's, if it isn't, and tells whether it had to. It
// loses to whoever changed the APIService since now was read.
func (r registration) put(ctx context.Context, now *registered, bundle []byte) (bool, error) {
	if now == nil || bytes.Equal(now.bundle, bundle) {
		return false, nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": now.rv},
		"spec":     map[string]any{"caBundle": bundle},
	})
	if err != nil {
		return false, fmt.Errorf("APIService %s: %w", r.name, err)
	}
	if _, err := r.client.Patch(ctx, r.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		return false, fmt.Errorf("APIService %s: caBundle: %w", r.name, err)
	}
	return true, nil
}
