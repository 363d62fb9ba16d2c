package render

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"socialweb.computer/infra-apiserver/hack/deploy/manifests"
)

// The kustomizations of docs/deploy.md are ones that kustomize builds, and do what
// they are there for.
func TestKustomizationsOfTheDocs(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	wants := []string{"registry.example.com/infra-apiserver@sha256:", "--pds-request-rate=10", "imagePullSecrets:[map[name:regcred]]", "--contracts-kubeconfig=/etc/contracts/kubeconfig", "cert-manager.io/v1 Certificate", "https://etcd-1.example.com:2379"}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```|<<'EOF'\n(resources:.*?)EOF\n").FindAllSubmatch(doc, -1)
	for i, b := range blocks {
		text := string(b[1]) + string(b[2])
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if !strings.Contains(text, "resources:") {
				text = "resources: [../../artifacts/deploy/default]\n" + text
			}
			memory := filesys.MakeFsInMemory()
			for name, content := range files {
				if err := memory.WriteFile("/artifacts/deploy/"+name, content); err != nil {
					t.Fatal(err)
				}
			}
			if err := memory.WriteFile("/deploy/mine/kustomization.yaml", []byte(strings.Replace(text, "…", strings.Repeat("0", 64), 1))); err != nil {
				t.Fatal(err)
			}
			built := build(t, memory, "/deploy/mine")
			var ids []string
			for id := range built {
				ids = append(ids, id)
			}
			got := fmt.Sprint(built, ids)
			for j, want := range wants {
				if (i == j) != strings.Contains(got, want) && (i == j || want != "registry.example.com/infra-apiserver@sha256:") {
					t.Errorf("%q is there: %t", want, i != j)
				}
			}
		})
	}
	if len(blocks) != len(wants) {
		t.Errorf("%d kustomizations, want %d", len(blocks), len(wants))
	}
}

// In another namespace nothing of the chart names the usual one.
func TestHelmInAnotherNamespace(t *testing.T) {
	for _, v := range variants {
		rendered, err := renderIn(t, "elsewhere", v.values)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range rendered {
			// Comments and the name of the chart's own files aside.
			if strings.Contains(text, manifests.Namespace) {
				t.Errorf("%s: %s names %s", v.name, name, manifests.Namespace)
			}
		}
	}
}
