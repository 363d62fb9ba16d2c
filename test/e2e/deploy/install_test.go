//go:build e2e

package deploy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/internal/testkubectl"
	"socialweb.computer/infra-apiserver/internal/testport"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

const (
	servingSecret = "infra-apiserver-serving"
	etcdName      = "infra-apiserver-etcd"
	// servingCertificate is the manifest of what the server keeps.
	servingCertificate = "../../../artifacts/deploy/base/serving-certificate.yaml"
	// port of the Service on loopback.
	port = 9443
)

// From an empty cluster to an object that is a record, with nothing but what
// artifacts/deploy says: its objects, its command lines, its rights.
func TestInstall(t *testing.T) {
	root, err := testkubectl.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	k := plane.Kubectl(t)
	address := makeRoom(t, k)
	dir := overlay(t, root, address, port)
	out := k.Run(t, "apply", "--server-side", "--validate=strict", "-k", dir)
	if n := strings.Count(out, "serverside-applied"); n < 35 {
		t.Errorf("only %d objects were applied:\n%s", n, out)
	}
	admitted(t)

	etcd := startEtcd(t)
	server := startServer(t, address, etcd)
	endpoints(t)
	plane.Available(t, true)
	probes(t, server, address)
	ownCertificate(t, k, dir)
	name := use(t, k)
	fulfilled(t, name)
	for _, program := range []string{"server", "controller"} {
		if log := plane.Log(t, program); strings.Contains(strings.ToLower(log), "forbidden") {
			t.Errorf("the %s lacks a right:\n%s", program, log)
		}
	}
}

// makeRoom takes the plane's replica and what leads to it away, and returns the
// Service's address.
func makeRoom(t *testing.T, k *testkubectl.Kubectl) string {
	t.Helper()
	service, err := plane.Admin().Core.CoreV1().Services(harness.Namespace).Get(t.Context(), harness.ServiceName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plane.Replicas[0].Kill(t)
	k.Run(t, "delete", "apiservice", harness.APIServiceName)
	k.Run(t, "-n", harness.Namespace, "delete", "service,endpointslice", "--all")
	return service.Spec.ClusterIP
}

// admitted: the cluster admits the pods, with its Pod Security and its quota.
func admitted(t *testing.T) {
	t.Helper()
	for name, template := range templates(t) {
		harness.Eventually(t, func(ctx context.Context) error { // the quota has to be counted first
			pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
			pod.Name = name
			for _, m := range pod.Spec.Containers[0].VolumeMounts {
				if m.Name == "data" {
					pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data"})
				}
			}
			_, err := plane.Admin().Core.CoreV1().Pods(harness.Namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		})
	}
	loose := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "loose"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.test/x"}}},
	}
	if _, err := plane.Admin().Core.CoreV1().Pods(harness.Namespace).Create(t.Context(), loose, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
		t.Error("a pod without a security context was admitted: the standard isn't enforced")
	}
}

// templates of the pods, as the cluster has them.
func templates(t *testing.T) map[string]corev1.PodTemplateSpec {
	t.Helper()
	apps := plane.Admin().Core.AppsV1()
	s, err := apps.StatefulSets(harness.Namespace).Get(t.Context(), etcdName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]corev1.PodTemplateSpec{s.Name: s.Spec.Template}
	for _, name := range []string{harness.ServiceName, harness.ControllerAccount} {
		d, err := apps.Deployments(harness.Namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out[d.Name] = d.Spec.Template
	}
	return out
}

// startEtcd runs the StatefulSet's containers one after the other and returns the
// address for clients.
func startEtcd(t *testing.T) string {
	t.Helper()
	client, peer, health := free(t), free(t), free(t)
	pod := newKubelet(t, templates(t)[etcdName].Spec, "0.0.0.0:2379", client, "127.0.0.1:2380", peer, "0.0.0.0:2381", health)
	certificates := pod.container(t, "certificates")
	if err := plane.Run(t, "etcd-certificates", "infra-apiserver", append(pod.args(t, certificates), "--kubeconfig="+pod.kubeconfig(t))...).Err(); err != nil {
		t.Fatalf("%v\n%s", err, plane.Log(t, "etcd-certificates"))
	}
	member := pod.container(t, "etcd")
	plane.Run(t, "etcd-member", member.Command[0], pod.args(t, member)...)
	for _, probe := range []*corev1.Probe{member.StartupProbe, member.ReadinessProbe, member.LivenessProbe} {
		harness.Eventually(t, func(ctx context.Context) error {
			_, err := testhttp.GetOK(ctx, http.DefaultClient, "http://"+health+probe.HTTPGet.Path)
			return err
		})
	}
	// Without a certificate of its authority etcd talks to nobody.
	stranger := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if _, err := testhttp.GetOK(t.Context(), stranger, "https://"+client+"/version"); err == nil {
		t.Error("etcd answered somebody without a certificate")
	}
	return client
}

// startServer runs the Deployment's container.
func startServer(t *testing.T, address, etcd string) corev1.Container {
	t.Helper()
	pod := newKubelet(t, templates(t)[harness.ServiceName].Spec, etcdName+"."+harness.Namespace+".svc:2379", etcd)
	c := pod.container(t, "apiserver")
	args := append(pod.args(t, c),
		"--kubeconfig="+pod.kubeconfig(t), "--bind-address="+address, fmt.Sprintf("--secure-port=%d", port),
		// The PDS and its directory are on loopback.
		"--plc-url="+plane.PDS.PLCURL, "--allow-private-addresses",
	)
	plane.Run(t, "server", "infra-apiserver", args...)
	return c
}

// fulfilled runs the container of the controller's Deployment: an Infra that is requested
// has a ComputeContract then, and goes once that is released, which is at once, since
// nobody has taken it on.
func fulfilled(t *testing.T, name string) {
	t.Helper()
	address := free(t)
	pod := newKubelet(t, templates(t)[harness.ControllerAccount].Spec, ":8080", address)
	c := pod.container(t, "controller")
	if len(c.Command) != 1 || c.Command[0] != "/infra-controller" {
		t.Fatalf("command %v", c.Command)
	}
	plane.Run(t, "controller", "infra-controller", append(pod.args(t, c), "--kubeconfig="+pod.kubeconfig(t))...)
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
		harness.Eventually(t, func(ctx context.Context) error {
			_, err := testhttp.GetOK(ctx, http.DefaultClient, "http://"+address+p.HTTPGet.Path)
			return err
		})
	}
	ours := plane.Admin().Infra.SocialwebV1alpha1()
	if _, err := ours.Infras().Patch(t.Context(), name, types.StrategicMergePatchType,
		[]byte(`{"spec":{"contracts":[{"name":"web","state":"Requested"}]}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(harness.Explain(err))
	}
	contract := harness.Await(t, ours.ComputeContracts().Watch, "infra-"+name+"-web", func(*v1alpha1.ComputeContract) error { return nil })
	if err := ours.Infras().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(harness.Explain(err))
	}
	harness.Eventually(t, func(ctx context.Context) error {
		_, err := ours.Infras().Get(ctx, name, metav1.GetOptions{})
		return harness.IsGone(err)
	})
	_, err := ours.ComputeContracts().Get(t.Context(), contract.Name, metav1.GetOptions{})
	if err := harness.IsGone(err); err != nil {
		t.Errorf("its ComputeContract: %v", err)
	}
	counted(t, "http://"+address+"/metrics")
}

// counted: the controller has the metrics that its alerts are made of.
func counted(t *testing.T, url string) {
	t.Helper()
	list, err := os.ReadFile(plane.Manifest("../monitoring/metrics-controller.txt"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := testhttp.GetOK(t.Context(), http.DefaultClient, url)
	if err != nil {
		t.Fatal(err)
	}
	shown := string(b)
	for line := range strings.Lines(string(list)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if !strings.Contains(shown, "# TYPE "+fields[0]+" "+fields[1]+"\n") {
			t.Errorf("no %s %s", fields[1], fields[0])
		}
		_, sample, _ := strings.Cut(shown, "\n"+fields[0])
		sample, _, _ = strings.Cut(sample, "\n")
		for label := range strings.SplitSeq(fields[2], ",") {
			if !strings.Contains(sample, label+"=\"") {
				t.Errorf("%s has no label %s: %s", fields[0], label, sample)
			}
		}
	}
	for _, name := range []string{`leader_election_master_status{name="infra-controller"} 1`, `_bucket{name="infra_controller",`} {
		if !strings.Contains(shown, name) {
			t.Errorf("nothing is counted as %s", name)
		}
	}
}

// endpoints of the Service, as a cluster makes them of ready pods. Nobody dials them.
func endpoints(t *testing.T) {
	t.Helper()
	ready, name, number, protocol := true, "https", int32(8443), corev1.ProtocolTCP
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "pods", Labels: map[string]string{discoveryv1.LabelServiceName: harness.ServiceName}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &number, Protocol: &protocol}},
	}
	if _, err := plane.Admin().Core.DiscoveryV1().EndpointSlices(harness.Namespace).Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// probes: the kubelet, whom nobody knows, is answered on each path.
func probes(t *testing.T, c corev1.Container, address string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, p := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		harness.Eventually(t, func(ctx context.Context) error {
			_, err := testhttp.GetOK(ctx, client, "https://"+net.JoinHostPort(address, strconv.Itoa(port))+p.HTTPGet.Path)
			return err
		})
	}
}

// ownCertificate: the server filled in the Secret and the caBundle, and applying the
// manifests again changes neither.
func ownCertificate(t *testing.T, k *testkubectl.Kubectl, dir string) {
	t.Helper()
	before := kept(t)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(before["caBundle"]) || !bytes.Equal(before["caBundle"], before["ca.crt"]) {
		t.Errorf("the APIService trusts %q, the Secret has %q", before["caBundle"], before["ca.crt"])
	}
	k.Run(t, "apply", "--server-side", "--validate=strict", "-k", dir)
	k.Run(t, "apply", "-f", servingCertificate)
	after := kept(t)
	for name := range before {
		if !bytes.Equal(before[name], after[name]) {
			t.Errorf("%s has changed by applying the manifests again", name)
		}
	}
	plane.Available(t, true)
}

// kept is what the server keeps in the cluster.
func kept(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	s, err := plane.Admin().Core.CoreV1().Secrets(harness.Namespace).Get(t.Context(), servingSecret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range s.Data {
		out[name] = value
	}
	a, err := plane.Admin().Dynamic.Resource(harness.APIServices).Get(t.Context(), harness.APIServiceName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bundle, _, err := unstructured.NestedString(a.Object, "spec", "caBundle")
	if err != nil {
		t.Fatal(err)
	}
	out["caBundle"] = decode(t, bundle)
	if insecure, _, _ := unstructured.NestedBool(a.Object, "spec", "insecureSkipTLSVerify"); insecure || len(out["tls.crt"]) == 0 {
		t.Errorf("insecure: %t, the certificate has %d bytes", insecure, len(out["tls.crt"]))
	}
	return out
}

// use makes the first account and the first object, whose name it returns, as
// docs/deploy.md says.
func use(t *testing.T, k *testkubectl.Kubectl) string {
	t.Helper()
	a := plane.PDS.Accounts[0]
	k.Run(t, "-n", harness.CredentialsNamespace, "create", "secret", "generic", "default.alice",
		"--from-literal=identifier="+a.DID, "--from-literal=password="+a.Password, "--from-literal=pds="+plane.Proxy.URL())
	k.RunIn(t, fmt.Sprintf(`apiVersion: socialweb.computer/v1alpha1
kind: AtprotoRepo
metadata: {name: alice}
spec: {did: %q, pds: %q, default: true, credentialsRef: {name: alice}}
`, a.DID, plane.Proxy.URL()), "apply", "-f", "-")
	k.Run(t, "wait", "--for=condition=Ready", "atprotorepo/alice", "--timeout=3m")
	name := plane.Infra(t)
	uri := k.Run(t, "get", "infra", name, "-o", "jsonpath={.status.record.uri}")
	if want := "at://" + a.DID + "/computer.socialweb.infra/" + name; uri != want {
		t.Errorf("record %q, want %q", uri, want)
	}
	return name
}

// free is an address of loopback on which nobody listens.
func free(t *testing.T) string {
	t.Helper()
	addr, err := testport.Free()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}
