package registry

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/internal/repostore"
)

// prepareMetaForCreate begins the generation, adds the finalizers and names the
// workspace on the object. What a client says about the workspace doesn't count:
// an object saved in one workspace can be created in another.
func prepareMetaForCreate(ctx context.Context, obj runtime.Object, finalizers []string) {
	m := mustMeta(obj)
	m.SetGeneration(1)
	for _, f := range finalizers {
		if !slices.Contains(m.GetFinalizers(), f) {
			m.SetFinalizers(append(slices.Clone(m.GetFinalizers()), f))
		}
	}
	if ws, ok := repostore.WorkspaceFrom(ctx); ok {
		setCluster(m, ws)
	}
}

// prepareMetaForUpdate puts the workspace back where a client dropped it (a
// replace with a hand-written file does), and counts the generation up where
// the spec changed.
func prepareMetaForUpdate(obj, old runtime.Object, specChanged bool) {
	m, o := mustMeta(obj), mustMeta(old)
	ws, had := o.GetAnnotations()[repostore.ClusterAnnotation]
	if _, has := m.GetAnnotations()[repostore.ClusterAnnotation]; had && !has {
		setCluster(m, ws)
	}
	if specChanged {
		m.SetGeneration(o.GetGeneration() + 1)
	}
}

// validateMetaUpdate refuses to move an object to another workspace.
func validateMetaUpdate(obj, old runtime.Object) field.ErrorList {
	now := mustMeta(obj).GetAnnotations()[repostore.ClusterAnnotation]
	before := mustMeta(old).GetAnnotations()[repostore.ClusterAnnotation]
	if now == before {
		return nil
	}
	at := field.NewPath("metadata", "annotations").Key(repostore.ClusterAnnotation)
	return field.ErrorList{field.Invalid(at, now, "is immutable")}
}

func setCluster(m metav1.Object, ws string) {
	// A copy: the map may be shared with the object that the caller compares to.
	annotations := make(map[string]string, len(m.GetAnnotations())+1)
	for k, v := range m.GetAnnotations() {
		annotations[k] = v
	}
	annotations[repostore.ClusterAnnotation] = ws
	m.SetAnnotations(annotations)
}

// mustMeta is for objects of our own kinds, all of which have metadata.
func mustMeta(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	return m
}

// keepMeta gives obj the metadata of old, but for what a status write may carry:
// the resourceVersion that it depends on, and the managed fields, which tell who
// wrote the status.
func keepMeta(obj, old runtime.Object) {
	m, o := mustMeta(obj), mustMeta(old.DeepCopyObject())
	m.SetGenerateName(o.GetGenerateName())
	m.SetUID(o.GetUID())
	m.SetGeneration(o.GetGeneration())
	m.SetCreationTimestamp(o.GetCreationTimestamp())
	m.SetDeletionTimestamp(o.GetDeletionTimestamp())
	m.SetDeletionGracePeriodSeconds(o.GetDeletionGracePeriodSeconds())
	m.SetLabels(o.GetLabels())
	m.SetAnnotations(o.GetAnnotations())
	m.SetOwnerReferences(o.GetOwnerReferences())
	m.SetFinalizers(o.GetFinalizers())
}
