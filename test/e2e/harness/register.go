package harness

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"text/template"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// ServerName is what the replicas' certificate is for: the aggregator asks for it,
// whatever address it dials.
const ServerName = ServiceName + "." + Namespace + ".svc"

// APIServices is their resource.
var APIServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// APIServiceName is that of ours.
const APIServiceName = "v1alpha1.socialweb.computer"

//go:embed service.yaml
var serviceManifest string

// accountManifests are those of a deployment, below deployBase: replicas and controllers
// have the rights that it gives, and no other.
var accountManifests = []string{"namespaces.yaml", "serviceaccount.yaml", "rbac.yaml", "roles.yaml", "controller-rbac.yaml"}

const deployBase = "artifacts/deploy/base"

// account makes what the replicas are to the cluster: a ServiceAccount with its
// rights, and a kubeconfig with a token of it, as a pod has.
func (p *Plane) account(ctx context.Context) error {
	var args []string
	for _, name := range accountManifests {
		args = append(args, "-f", filepath.Join(p.root, filepath.FromSlash(deployBase), name))
	}
	if err := p.apply(ctx, nil, args...); err != nil {
		return err
	}
	token, err := p.token(ctx, ServiceAccount)
	if err != nil {
		return err
	}
	c := p.Anonymous()
	c.BearerTokenFile = token
	return writeKubeconfig(p.file("replica.kubeconfig"), c)
}

// register makes Service, EndpointSlice and APIService, and waits until the
// aggregator serves it.
func (p *Plane) register(ctx context.Context) error {
	manifest, err := p.service()
	if err != nil {
		return err
	}
	if err := p.apply(ctx, manifest, "-f", "-"); err != nil {
		return err
	}
	p.slice.setWanted(true)
	return eventually(ctx, func(ctx context.Context) error { return p.availableIs(ctx, true) })
}

// availableIs says whether the APIService's condition Available is as wanted, and where it
// is, whether everything in kube-apiserver has followed it.
func (p *Plane) availableIs(ctx context.Context, want bool) error {
	got, message, err := p.available(ctx)
	if err == nil && got != want {
		err = fmt.Errorf("APIService %s: Available is %t: %s", APIServiceName, got, message)
	}
	if err != nil || !want {
		return err
	}
	return p.served(ctx)
}

// served says whether the aggregator passes requests on to us, and whether the cluster's
// discovery has our kinds as we have them: both learn of the condition later than who
// reads it, each by itself.
func (p *Plane) served(ctx context.Context) error {
	client, err := rest.HTTPClientFor(p.Config())
	if err != nil {
		return err
	}
	if err := getOK(ctx, client, p.URL()+"/apis/"+v1alpha1.SchemeGroupVersion.String()); err != nil {
		return err
	}
	a, err := (&testhttp.Client{HTTP: client, Server: p.URL()}).Do(ctx, testhttp.Request{
		Method: http.MethodGet, Path: "/apis", Header: testhttp.Headers("Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
	})
	if err == nil {
		err = a.Want(http.StatusOK)
	}
	if err != nil {
		return fmt.Errorf("discovery: %w", err)
	}
	var all apidiscoveryv2.APIGroupDiscoveryList
	if err := testhttp.Unmarshal(a.Body, &all); err != nil {
		return fmt.Errorf("discovery: %w", err)
	}
	for _, g := range all.Items {
		for _, v := range g.Versions {
			if g.Name == v1alpha1.GroupName && v.Version == v1alpha1.SchemeGroupVersion.Version && v.Freshness == apidiscoveryv2.DiscoveryFreshnessCurrent {
				return nil
			}
		}
	}
	return errors.New("discovery has not our group as it is")
}

// available reads the APIService's condition Available.
func (p *Plane) available(ctx context.Context) (available bool, message string, err error) {
	o, err := p.clients.Dynamic.Resource(APIServices).Get(ctx, APIServiceName, metav1.GetOptions{})
	if err != nil {
		return false, "", err
	}
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Available" {
			return c["status"] == "True", fmt.Sprint(c["reason"], ": ", c["message"]), err
		}
	}
	return false, "no condition", err
}

// service is the manifest of Service, EndpointSlice and APIService.
func (p *Plane) service() (io.Reader, error) {
	t, err := template.New("").Parse(serviceManifest)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{
		"ClusterIP": p.net.host(serviceHost), "Port": servicePort, "TargetPort": replicaPort,
		"CABundle": base64.StdEncoding.EncodeToString(p.pki.serving.PEM),
	})
	return &out, err
}

// apply runs kubectl apply as the admin.
func (p *Plane) apply(ctx context.Context, stdin io.Reader, args ...string) error {
	args = append([]string{"apply", "--server-side", "--kubeconfig", p.file("admin.kubeconfig"), "--cache-dir", p.file("kubectl")}, args...)
	cmd := exec.CommandContext(ctx, p.binary("kubectl"), args...)
	cmd.Stdin = stdin
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply: %w\n%s", err, out)
	}
	return nil
}

// endpoints of the slice, as kube-controller-manager would make them of pods. Their
// addresses are never dialled: the aggregator dials the Service's.
func (p *Plane) endpoints() []discoveryv1.Endpoint {
	out := make([]discoveryv1.Endpoint, len(p.Replicas))
	for i, r := range p.Replicas {
		ready := p.Balancer.isReady(r.Addr)
		out[i] = discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("192.0.2.%d", replicaHost+i)}, // for documentation: a slice may not name loopback
			Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &ready},
		}
	}
	return out
}

// writeSlice tells the cluster which replicas are ready.
func (p *Plane) writeSlice(ctx context.Context) error {
	patch, err := json.Marshal(map[string]any{"endpoints": p.endpoints()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = p.clients.Core.DiscoveryV1().EndpointSlices(Namespace).Patch(ctx, ServiceName+"-1", types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
