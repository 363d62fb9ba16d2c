package lifecycle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// OwnerOf is the reference to the deployment that controls a ComputeContract; nil:
// no deployment does.
func OwnerOf(c *v1alpha1.ComputeContract) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(c)
	if ref == nil || (ref.Kind != KindInfra && ref.Kind != KindEphemeralInfra) {
		return nil
	}
	if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != v1alpha1.GroupName {
		return nil
	}
	return ref
}

// Owns tells whether the deployment controls a ComputeContract.
func (d *Deployment) Owns(c *v1alpha1.ComputeContract) bool {
	ref := OwnerOf(c)
	return ref != nil && ref.UID == d.UID
}
