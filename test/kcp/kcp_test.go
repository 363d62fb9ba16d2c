package kcp

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	kcpartifacts "socialweb.computer/infra-apiserver/artifacts/kcp"
	"socialweb.computer/infra-apiserver/internal/kcp/provider"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
	v1alpha1client "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// What TestKCP needs to know of a real kcp.
const (
	// kcpKubeconfig is a file: an administrator's of a workspace, below which the test
	// makes a provider and a consumer.
	kcpKubeconfig = "KCP_KUBECONFIG"
	// kcpURL is where the shards reach the server of the test, below their
	// --shard-virtual-workspace-url, like https://127.0.0.1:7443/services/infra. The
	// server listens at its port, on loopback.
	kcpURL = "KCP_URL"
	// kcpShardCA is the file with the authorities of the shards'
	// --shard-client-cert-file.
	kcpShardCA = "KCP_SHARD_CLIENT_CA_FILE"
	// kcpDataDir is a data directory that dev has made. What signs the server's
	// certificate is in it, as pki/ca.crt: the shards' --shard-virtual-workspace-ca-file.
	// Nothing else of it is used.
	kcpDataDir = "KCP_DATA_DIR"
)

// TestKCP is the suite through a real kcp: its provider workspace is set up, a workspace
// binds the export, and a user of it does what one does through the recorded shard.
func TestKCP(t *testing.T) {
	file := os.Getenv(kcpKubeconfig)
	if file == "" {
		t.Skipf("%s names no kcp (docs/kcp.md has how to build one). Its shards' requests are recorded, and TestManyWorkspaces and TestThroughAFront send them", kcpKubeconfig)
	}
	for _, v := range []string{kcpURL, kcpShardCA, kcpDataDir} {
		if os.Getenv(v) == "" {
			t.Fatalf("%s is empty: see its comment", v)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	// Clients of one authority and one user share their connections.
	ofKCP, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(ofKCP) })
	u, err := url.Parse(os.Getenv(kcpURL))
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	e := newEnvAt(t, site{data: signedAs(t, os.Getenv(kcpDataDir)), shardCA: os.Getenv(kcpShardCA), port: port, accounts: 3})

	suffix := utilrand.String(5)
	ofProvider, _ := newWorkspace(t, config, "infra-provider-"+suffix)
	authorities, err := os.ReadFile(filepath.Join(e.data, "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	setUp := func() string {
		var out bytes.Buffer
		report, err := provider.Init(t.Context(), provider.Options{
			Config: ofProvider, URLs: []string{u.String()}, Authorities: authorities, Export: provider.DefaultExport, Timeout: provider.DefaultTimeout, Out: &out,
		})
		if err != nil || len(report.Faults) > 0 {
			t.Fatalf("kcp init: %v, %+v\n%s", err, report, out.String())
		}
		return out.String()
	}
	setUp()
	if again := setUp(); strings.Contains(again, "created") || strings.Contains(again, "configured") {
		t.Errorf("kcp init once more:\n%s", again)
	}

	ofConsumer, cluster := newWorkspace(t, config, "infra-consumer-"+suffix)
	bind(t, ofConsumer, ofProvider)
	w := consumer(t, ofConsumer, cluster, e.account(t))
	e.mount(t, w)
	lifecycle(t, w, e.controller(t, cluster))

	// The export's maximalPermissionPolicy stands above an administrator of the workspace.
	w.create(t, "of-a-tenant", "in "+w.name)
	w.refused(t, request{method: http.MethodPatch, path: infras + "/of-a-tenant/status", kind: mergePatch, body: `{"status":{"phase":"Deployed"}}`}, http.StatusForbidden, "access denied")
	w.refused(t, request{method: http.MethodPost, path: groupPath + "/computecontracts",
		body: `{"apiVersion":"socialweb.computer/v1alpha1","kind":"ComputeContract","metadata":{"name":"x"},"spec":{"vmName":"vm.example"}}`}, http.StatusForbidden, "access denied")
}

// signedAs makes a data directory with the authority of another: each run has accounts
// of its own, and a data directory is of one.
func signedAs(t *testing.T, of string) string {
	t.Helper()
	data := t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "pki"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ca.crt", "ca.key"} {
		b, err := os.ReadFile(filepath.Join(of, "pki", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(data, "pki", name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// controller is a client of the server itself that sees one workspace, as the controller is.
func (e *env) controller(t *testing.T, workspace string) v1alpha1client.SocialwebV1alpha1Interface {
	t.Helper()
	c := rest.CopyConfig(e.dev.Config)
	c.Host += "/clusters/" + workspace
	client, err := versioned.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return client.SocialwebV1alpha1()
}

// newWorkspace makes a workspace below that of a client configuration, and returns its
// own and the name of its logical cluster. It goes with the test.
func newWorkspace(t *testing.T, parent *rest.Config, name string) (c *rest.Config, cluster string) {
	t.Helper()
	client, err := dynamic.NewForConfig(parent)
	if err != nil {
		t.Fatal(err)
	}
	workspaces := client.Resource(schema.GroupVersionResource{Group: "tenancy.kcp.io", Version: "v1alpha1", Resource: "workspaces"})
	if _, err := workspaces.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "tenancy.kcp.io/v1alpha1", "kind": "Workspace", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"type": map[string]any{"name": "universal", "path": "root"}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatalf("workspace %s: %v", name, err)
	}
	t.Cleanup(func() { // the test's own context has ended by then
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := workspaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("workspace %s: %v", name, err)
		}
	})
	c = rest.CopyConfig(parent)
	waitFor(t, "workspace "+name, func() error {
		o, err := workspaces.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		c.Host, _, _ = unstructured.NestedString(o.Object, "spec", "URL")
		cluster, _, _ = unstructured.NestedString(o.Object, "spec", "cluster")
		if phase != "Ready" || c.Host == "" || cluster == "" {
			return fmt.Errorf("phase %q, URL %q, cluster %q", phase, c.Host, cluster)
		}
		return nil
	})
	return c, cluster
}

// bind makes a workspace bind the export of another, by the example of artifacts/kcp,
// and waits until kcp has done it.
func bind(t *testing.T, c, exporter *rest.Config) {
	t.Helper()
	objects, err := kcpartifacts.Objects("examples/apibinding.yaml")
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d bindings, %v", len(objects), err)
	}
	binding := objects[0]
	_, path, _ := strings.Cut(exporter.Host, "/clusters/")
	if err := unstructured.SetNestedField(binding.Object, path, "spec", "reference", "export", "path"); err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	bindings := client.Resource(schema.GroupVersionResource{Group: "apis.kcp.io", Version: "v1alpha2", Resource: "apibindings"})
	if _, err := bindings.Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatalf("binding: %v", err)
	}
	waitFor(t, "the binding", func() error {
		o, err := bindings.Get(t.Context(), binding.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); phase != "Bound" {
			return fmt.Errorf("status %v", o.Object["status"])
		}
		return nil
	})
}
