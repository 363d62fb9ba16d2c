//go:build e2e

package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// kubelet runs the containers of a pod as processes on loopback: with the pod's
// volumes, variables and service account, and with addresses of this machine.
type kubelet struct {
	spec    corev1.PodSpec
	volumes map[string]string // directories, by volume
	// addresses of this machine in place of the cluster's.
	addresses *strings.Replacer
}

func newKubelet(t *testing.T, spec corev1.PodSpec, addresses ...string) *kubelet {
	t.Helper()
	k := &kubelet{spec: spec, volumes: map[string]string{}, addresses: strings.NewReplacer(addresses...)}
	for _, v := range spec.Volumes {
		dir := t.TempDir()
		k.volumes[v.Name] = dir
		if v.Secret == nil {
			continue
		}
		s, err := plane.Admin().Core.CoreV1().Secrets(harness.Namespace).Get(t.Context(), v.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range v.Secret.Items {
			if s.Data[item.Key] == nil {
				t.Fatalf("Secret %s lacks %s: the pod would not start", s.Name, item.Key)
			}
			if err := os.WriteFile(filepath.Join(dir, item.Path), s.Data[item.Key], 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return k
}

func (k *kubelet) container(t *testing.T, name string) corev1.Container {
	t.Helper()
	for _, c := range append(k.spec.InitContainers, k.spec.Containers...) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no container %s", name)
	return corev1.Container{}
}

// args of a container, on this machine.
func (k *kubelet) args(t *testing.T, c corev1.Container) []string {
	t.Helper()
	var pairs []string
	for _, e := range c.Env {
		pairs = append(pairs, "$("+e.Name+")", k.addresses.Replace(e.Value))
	}
	for _, m := range c.VolumeMounts {
		if k.volumes[m.Name] == "" { // of a claim
			k.volumes[m.Name] = t.TempDir()
		}
		pairs = append(pairs, m.MountPath+"/", k.volumes[m.Name]+"/", "="+m.MountPath, "="+k.volumes[m.Name])
	}
	local := strings.NewReplacer(pairs...)
	args := make([]string, len(c.Args))
	for i, arg := range c.Args {
		args[i] = local.Replace(k.addresses.Replace(arg))
	}
	return args
}

// kubeconfig of the pod's service account, with a token as a pod has it.
func (k *kubelet) kubeconfig(t *testing.T) string {
	t.Helper()
	hour := int64(60 * 60)
	token, err := plane.Admin().Core.CoreV1().ServiceAccounts(harness.Namespace).CreateToken(t.Context(), k.spec.ServiceAccountName,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token.Status.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	config := plane.Anonymous()
	config.BearerTokenFile = file
	return plane.Kubeconfig(t, config)
}

// overlay is a kustomization of a user: the whole of artifacts/deploy/default, with
// the Service at an address and a port of loopback.
func overlay(t *testing.T, root, address string, port int) string {
	t.Helper()
	dir := t.TempDir()
	base, err := filepath.Rel(dir, filepath.Join(root, "artifacts", "deploy", "default"))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`resources: [%q]
images:
- name: registry.example.com/infra-apiserver
  newName: registry.test/infra-apiserver
  digest: sha256:%064d
patches:
- target: {kind: Service, name: infra-apiserver}
  patch: |
    - {op: add, path: /spec/clusterIP, value: %q}
    - {op: replace, path: /spec/ports/0/port, value: %d}
- target: {kind: APIService}
  patch: |
    - {op: replace, path: /spec/service/port, value: %d}
`, base, 0, address, port, port)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
