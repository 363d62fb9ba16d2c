//go:build e2e

package outage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// Without any replica of ours the cluster goes on: kubectl's core commands, quota and
// the content of namespaces; nothing is collected whose owner can't be asked for, and
// ours is 503, never 404 or empty. With the replicas all is there again
// (helm/helm#6361, fluxcd/flux#1991, kyverno/kyverno#3244, kubernetes/kubernetes#127105).
func TestWithoutReplicas(t *testing.T) {
	f := plane.Family(t)
	uid := f.Ref.UID
	ns := namespaceWithContent(t)
	for _, r := range plane.Replicas {
		r.Kill(t)
	}
	plane.Available(t, false)
	mark := plane.Mark(t, "kube-controller-manager")
	stale, staleUID := staleDependent(t, f)

	t.Run("kubectl", func(t *testing.T) { coreCommands(t) })
	t.Run("ours", func(t *testing.T) {
		_, err := f.Infras().List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsServiceUnavailable(err) {
			t.Errorf("LIST: %v, want 503", err)
		}
		if err := f.OwnerErr(t.Context()); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("GET: %v, want 503", err)
		}
		if said := plane.Kubectl(t).Fails(t, "", "get", "infras", "--request-timeout=60s"); strings.Contains(said, "No resources found") {
			t.Errorf("kubectl get infras: %s", said)
		}
	})
	t.Run("quota", func(t *testing.T) { quotaWorks(t) })

	// The controller-manager itself keeps a namespace until it has seen every group
	// of the cluster: what is in it goes, and the condition says who is missing.
	deleteNamespace(t, ns)
	waitNamespace(t, ns, func(n *corev1.Namespace) error {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NamespaceDeletionDiscoveryFailure && c.Status == corev1.ConditionTrue {
				if !strings.Contains(c.Message, "socialweb.computer") {
					return fmt.Errorf("the condition doesn't name our group: %s", c.Message)
				}
				return nil
			}
		}
		return fmt.Errorf("conditions %v", n.Status.Conditions)
	})
	if _, err := plane.Admin().Core.CoreV1().ConfigMaps(ns).Get(t.Context(), "content", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace's content: %v", err)
	}

	// The collector has asked for the stale dependent's owner, in vain.
	collectorTried(t, mark, staleUID)
	if err := errors.Join(f.ConfigMapErr(t.Context()), configMapErr(t.Context(), stale)); err != nil {
		t.Errorf("collected during the outage: %v", err)
	}

	for _, r := range plane.Replicas {
		r.Start(t)
	}
	plane.Available(t, true)
	waitNamespace(t, ns, nil)
	harness.Eventually(t, func(ctx context.Context) error { return harness.IsGone(configMapErr(ctx, stale)) })
	if err := errors.Join(f.OwnerErr(t.Context()), f.InfraErr(t.Context()), f.ConfigMapErr(t.Context())); err != nil {
		t.Errorf("after the outage: %v", err)
	}
	if o, err := f.Infras().Get(t.Context(), f.Name, metav1.GetOptions{}); err != nil || o.UID != uid {
		t.Errorf("the owner's uid is %s, was %s: %v", o.UID, uid, err)
	}
}

// coreCommands are those that people type all day, of a kubectl without a cache.
func coreCommands(t *testing.T) {
	t.Helper()
	name := harness.Name(t)
	k := plane.Kubectl(t)
	k.Run(t, "get", "pods,services", "-A", "--request-timeout=60s")
	k.Run(t, "create", "configmap", name, "--from-literal=a=b", "--request-timeout=60s")
	k.RunIn(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`"},"data":{"a":"c"}}`, "apply", "-f", "-", "--server-side", "--force-conflicts", "--request-timeout=60s")
	k.Run(t, "delete", "configmap", name, "--request-timeout=60s")
	r := k.Do(t, "", "api-resources", "--request-timeout=60s")
	if !strings.Contains(r.Out, "configmaps") || !strings.Contains(r.Out, "deployments") {
		t.Errorf("api-resources: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}
