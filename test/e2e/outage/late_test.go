//go:build e2e

package outage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// A client whose discovery is older than our APIService finds our kinds once they are
// there, without being started again. Taking the APIService away takes nothing else,
// and frees what waits for our group (argoproj/argo-cd#28289, vmware-tanzu/velero#4027).
func TestLateRegistration(t *testing.T) {
	f := plane.Family(t)
	services := plane.Admin().Dynamic.Resource(harness.APIServices)
	service, err := services.Get(t.Context(), harness.APIServiceName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := services.Delete(t.Context(), harness.APIServiceName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, func(context.Context) error {
		_, err := client.ServerResourcesForGroupVersion(v1alpha1.SchemeGroupVersion.String())
		if err == nil {
			return errors.New("the group is still in discovery")
		}
		return nil
	})
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	if m, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"}); err != nil {
		t.Fatal(m, err)
	}
	k := plane.Kubectl(t)
	k.Run(t, "get", "configmaps")
	if said := k.Fails(t, "", "get", "infras"); !strings.Contains(said, "infras") {
		t.Errorf("kubectl get infras: %s", said)
	}
	ns := namespaceWithContent(t)
	deleteNamespace(t, ns)
	waitNamespace(t, ns, nil)

	again := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": service.GetAPIVersion(), "kind": service.GetKind(),
		"metadata": map[string]any{"name": service.GetName()}, "spec": service.Object["spec"],
	}}
	if _, err := services.Create(t.Context(), again, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	plane.Available(t, true)
	harness.Eventually(t, func(context.Context) error {
		m, err := mapper.RESTMapping(v1alpha1.SchemeGroupVersion.WithKind("Infra").GroupKind())
		switch {
		case meta.IsNoMatchError(err):
			mapper.Reset() // as clients do whose cache is in memory
		case err == nil && m.Resource.Resource != "infras":
			err = fmt.Errorf("mapped to %s", m.Resource)
		}
		return err
	})
	k.Run(t, "get", "infras", f.Name)
	harness.Eventually(t, func(context.Context) error { // the aggregator merges OpenAPI later
		if r := k.Do(t, "", "explain", "infra.spec"); r.Code != 0 {
			return errors.New(r.Err)
		}
		return nil
	})
	if err := errors.Join(f.InfraErr(t.Context()), f.ConfigMapErr(t.Context())); err != nil {
		t.Errorf("collected while the APIService was away: %v", err)
	}
}
