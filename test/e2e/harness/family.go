package harness

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// Family is an Infra that owns an Infra and a ConfigMap, for tests of what the garbage
// collector does to them. All go with the test.
type Family struct {
	// Name of the owner, and of the ConfigMap.
	Name string
	// Ref refers to the owner.
	Ref metav1.OwnerReference

	plane            *Plane
	child, configMap types.UID
}

// holder is a finalizer that keeps a dependent.
const holder = "e2e.test/hold"

// Family makes one.
func (p *Plane) Family(t testing.TB) *Family {
	t.Helper()
	f := p.FamilyNamed(Name(t))
	f.NewOwner(t)
	f.NewDependents(t, f.Ref)
	if p.ControllerManager != nil {
		f.collectorKnows(t)
	}
	return f
}

// collectorKnows waits until the garbage collector has seen both dependents. It has a watch
// for each resource: a deletion of the owner that comes before one of them is carried out
// without that one, by a collector that is as it should be.
func (f *Family) collectorKnows(t testing.TB) {
	t.Helper()
	p := f.plane
	c := rest.CopyConfig(p.Config())
	c.Host = "https://" + p.net.addr(controllerManagerHost, controllerManagerPort)
	query := url.Values{"uid": {string(f.child), string(f.configMap)}}
	Eventually(t, func(ctx context.Context) error {
		graph, err := get(ctx, c, "/debug/controllers/garbage-collector-controller/graph?"+query.Encode())
		if err != nil {
			return err
		}
		for _, uid := range query["uid"] {
			if !strings.Contains(graph, uid) {
				return fmt.Errorf("the collector has not seen %s: %s", uid, graph)
			}
		}
		return nil
	})
}

// FamilyNamed is one of which nothing has been made.
func (p *Plane) FamilyNamed(name string) *Family { return &Family{Name: name, plane: p} }

// Infras is the client of them.
func (f *Family) Infras() typed.InfraInterface {
	return f.plane.Admin().Infra.SocialwebV1alpha1().Infras()
}

// ConfigMaps is the client of those in the family's namespace.
func (f *Family) ConfigMaps() corev1client.ConfigMapInterface {
	return f.plane.Admin().Core.CoreV1().ConfigMaps(metav1.NamespaceDefault)
}

// Child is the Infra that is owned.
func (f *Family) Child() string { return f.Name + "-child" }

// NewOwner makes the owner.
func (f *Family) NewOwner(t testing.TB) {
	t.Helper()
	o, err := f.Infras().Create(t.Context(), NewInfra(f.Name), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(Explain(err))
	}
	t.Cleanup(func() { f.plane.RemoveInfra(t, f.Name) })
	f.Ref = metav1.OwnerReference{
		APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Infra", Name: o.Name, UID: o.UID, BlockOwnerDeletion: ptr.To(true),
	}
}

// NewInfra makes the Infra that is owned.
func (f *Family) NewInfra(t testing.TB, ref metav1.OwnerReference) {
	t.Helper()
	child := NewInfra(f.Child())
	child.OwnerReferences = []metav1.OwnerReference{ref}
	child, err := f.Infras().Create(t.Context(), child, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(Explain(err))
	}
	f.child = child.UID
	t.Cleanup(func() { f.plane.RemoveInfra(t, f.Child()) })
}

// NewDependents makes both dependents, of any owner.
func (f *Family) NewDependents(t testing.TB, ref metav1.OwnerReference) {
	t.Helper()
	f.NewInfra(t, ref)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: f.Name, OwnerReferences: []metav1.OwnerReference{ref}}}
	cm, err := f.ConfigMaps().Create(t.Context(), cm, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.configMap = cm.UID
	t.Cleanup(func() {
		err := f.ConfigMaps().Delete(context.WithoutCancel(t.Context()), f.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
}

// Remove deletes the owner.
func (f *Family) Remove(t testing.TB, how metav1.DeletionPropagation) {
	t.Helper()
	if err := f.Infras().Delete(t.Context(), f.Name, metav1.DeleteOptions{PropagationPolicy: &how}); err != nil {
		t.Fatal(Explain(err))
	}
}

// DeleteRecord deletes the record of an Infra, past the server.
func (f *Family) DeleteRecord(t testing.TB, rkey string) {
	t.Helper()
	if _, err := f.plane.Repo.DeleteRecord(t.Context(), atproto.Key{Collection: InfraCollection, RKey: rkey}, atproto.Swap{Any: true}); err != nil {
		t.Fatal(err)
	}
}

// Hold keeps the ConfigMap from going, until Release.
func (f *Family) Hold(t testing.TB) {
	t.Helper()
	f.finalizers(t, fmt.Sprintf("[%q]", holder))
}

// Release lets go of what Hold keeps.
func (f *Family) Release(t testing.TB) {
	t.Helper()
	f.finalizers(t, "null")
}

func (f *Family) finalizers(t testing.TB, list string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"finalizers":%s}}`, list)
	if _, err := f.ConfigMaps().Patch(t.Context(), f.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Gone waits until both dependents are.
func (f *Family) Gone(t testing.TB) {
	t.Helper()
	Eventually(t, func(ctx context.Context) error {
		return errors.Join(IsGone(f.InfraErr(ctx)), IsGone(f.ConfigMapErr(ctx)))
	})
}

// OwnerErr is what a GET of the owner says.
func (f *Family) OwnerErr(ctx context.Context) error {
	_, err := f.Infras().Get(ctx, f.Name, metav1.GetOptions{})
	return err
}

// InfraErr is what a GET of the Infra that is owned says.
func (f *Family) InfraErr(ctx context.Context) error {
	_, err := f.Infras().Get(ctx, f.Child(), metav1.GetOptions{})
	return err
}

// ConfigMapErr is what a GET of the ConfigMap says.
func (f *Family) ConfigMapErr(ctx context.Context) error {
	_, err := f.ConfigMaps().Get(ctx, f.Name, metav1.GetOptions{})
	return err
}

// IsGone makes an error of a GET that found something.
func IsGone(err error) error {
	switch {
	case err == nil:
		return errors.New("it is still there")
	case apierrors.IsNotFound(err):
		return nil
	default:
		return err
	}
}
