//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// What a backup tool saves can be created again as such tools do it: without status,
// with a new uid, and the status written afterwards (vmware-tanzu/velero#1241, #1943).
// It works with the record gone, and with a record that was kept,
// which the restored object has to name.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	infras := plane.Admin().Infra.SocialwebV1alpha1().Infras()
	for _, policy := range []v1alpha1.DeletionPolicy{v1alpha1.DeletionDelete, v1alpha1.DeletionRetain} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			name := plane.Infra(t, func(o *v1alpha1.Infra) {
				o.Labels, o.Annotations = map[string]string{"l": "v"}, map[string]string{"a": "v"}
				o.Spec.Secrets = []v1alpha1.ContractSecret{{Contract: "web", SecretRef: v1alpha1.SecretReference{Name: "s", Namespace: "default"}}}
				o.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: harness.RepoName}, DeletionPolicy: policy}
			})
			if _, err := infras.Patch(t.Context(), name, types.MergePatchType, []byte(`{"status":{"phase":"Deployed"}}`), metav1.PatchOptions{}, "status"); err != nil {
				t.Fatal(harness.Explain(err))
			}
			saved := plane.Kubectl(t).Run(t, "get", "infra", name, "-o", "json")
			if err := infras.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(harness.Explain(err))
			}
			var old v1alpha1.Infra
			if err := json.Unmarshal([]byte(saved), &old); err != nil {
				t.Fatal(err)
			}
			again := &v1alpha1.Infra{
				TypeMeta:   old.TypeMeta,
				ObjectMeta: metav1.ObjectMeta{Name: old.Name, Labels: old.Labels, Annotations: old.Annotations},
				Spec:       *old.Spec.DeepCopy(),
			}
			if policy == v1alpha1.DeletionRetain { // the record is there, and nobody takes it unasked
				_, err := infras.Create(t.Context(), again, metav1.CreateOptions{})
				if !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), old.Status.Record.URI) {
					t.Errorf("over the record that was kept: %v", err)
				}
				again.Spec.Record.URI = old.Status.Record.URI
			}
			restored, err := infras.Create(t.Context(), again, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(harness.Explain(err))
			}
			restored.Spec.Record.URI = old.Spec.Record.URI
			if restored.UID == old.UID || restored.Status.Phase != "" {
				t.Errorf("uid %s, was %s; phase %q", restored.UID, old.UID, restored.Status.Phase)
			}
			if !reflect.DeepEqual(restored.Spec, old.Spec) || !reflect.DeepEqual(restored.Labels, old.Labels) || restored.Annotations["a"] != "v" {
				t.Errorf("restored %+v\nwas %+v", restored, old)
			}
			status := fmt.Appendf(nil, `{"status":{"phase":%q}}`, old.Status.Phase)
			o, err := infras.Patch(t.Context(), name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
			if err != nil || o.Status.Phase != old.Status.Phase {
				t.Errorf("the status: %v %+v", harness.Explain(err), o)
			}
			if r := read(t, name); r["description"] != old.Spec.Description {
				t.Errorf("the record is %v", r)
			}
		})
	}
}
