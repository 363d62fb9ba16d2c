//go:build e2e

package outage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// namespaceWithContent makes a namespace with a ConfigMap in it.
func namespaceWithContent(t *testing.T) string {
	t.Helper()
	name := harness.Name(t)
	core := plane.Admin().Core.CoreV1()
	if _, err := core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	content := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "content"}}
	if _, err := core.ConfigMaps(name).Create(t.Context(), content, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

func deleteNamespace(t *testing.T, name string) {
	t.Helper()
	if err := plane.Admin().Core.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// waitNamespace waits until a namespace is as it should be; without a check, until it
// is gone.
func waitNamespace(t *testing.T, name string, check func(*corev1.Namespace) error) {
	t.Helper()
	harness.Eventually(t, func(ctx context.Context) error {
		n, err := plane.Admin().Core.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		switch {
		case check == nil && apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case check == nil:
			return fmt.Errorf("namespace %s is still there: %v", name, n.Status.Conditions)
		}
		return check(n)
	})
}

// staleDependent makes a ConfigMap whose owner has the family's name, and another
// uid. The collector has to ask for the owner before it may delete it.
func staleDependent(t *testing.T, f *harness.Family) (name, ownerUID string) {
	t.Helper()
	ref := f.Ref
	ref.UID = uuid.NewUUID()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: f.Name + "-stale", OwnerReferences: []metav1.OwnerReference{ref}}}
	if _, err := f.ConfigMaps().Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return cm.Name, string(ref.UID)
}

func configMapErr(ctx context.Context, name string) error {
	_, err := plane.Admin().Core.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
	return err
}

// collectorTried waits until the collector says that it could not decide whether an
// owner is there.
func collectorTried(t *testing.T, mark int, ownerUID string) {
	t.Helper()
	harness.Eventually(t, func(context.Context) error {
		if !slices.ContainsFunc(plane.LogSince(t, "kube-controller-manager", mark), func(line string) bool {
			return strings.Contains(line, ownerUID) && strings.Contains(line, "rror syncing item")
		}) {
			return errors.New("the collector says nothing about the owner " + ownerUID)
		}
		return nil
	})
}

// quotaWorks makes a namespace with a quota and waits until it is in force.
func quotaWorks(t *testing.T) {
	t.Helper()
	ns := namespaceWithContent(t)
	k := plane.Kubectl(t)
	k.Run(t, "create", "quota", "q", "--hard=pods=5,count/configmaps=2,secrets=0", "-n", ns, "--request-timeout=60s")
	k.Run(t, "wait", "--for=jsonpath={.status.used.count/configmaps}=1", "quota/q", "-n", ns, "--timeout=3m")
	plane.QuotaInForce(t, ns)
	k.Run(t, "create", "configmap", "second", "-n", ns)
	if said := k.Fails(t, "", "create", "configmap", "third", "-n", ns); !strings.Contains(said, "exceeded quota") {
		t.Errorf("over the quota: %s", said)
	}
	deleteNamespace(t, ns)
}
