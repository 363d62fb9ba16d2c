//go:build e2e

package kcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"socialweb.computer/infra-apiserver/artifacts/kcp"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// Of each schema kcp makes a CustomResourceDefinition. As such they take every example,
// field by field, and nothing that isn't in the types.
func TestSchemas(t *testing.T) {
	t.Parallel()
	k := plane.Kubectl(t)
	k.Run(t, "delete", "apiservice", harness.APIServiceName) // it hides definitions of the group
	var text []string
	names := []string{"wait", "--for=condition=Established", "--timeout=3m"}
	for _, crd := range definitions(t) {
		raw, err := json.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, string(raw))
		names = append(names, "crd/"+crd.GetName())
	}
	k.RunIn(t, strings.Join(text, "\n---\n"), "create", "-f", "-")
	k.Run(t, names...)
	harness.Eventually(t, func(ctx context.Context) error { // kube-apiserver puts an APIService of its own there
		out, err := plane.Admin().Core.Discovery().RESTClient().Get().AbsPath("/apis/" + v1alpha1.SchemeGroupVersion.String()).DoRaw(ctx)
		if n := strings.Count(string(out), `/status"`); err == nil && n != len(text) {
			err = fmt.Errorf("%d kinds are served", n)
		}
		return err
	})
	kinds := map[string]bool{}
	for name, example := range examples(t) {
		if out := k.RunIn(t, example, "create", "--validate=strict", "-f", "-"); !strings.Contains(out, " created") {
			t.Errorf("%s: %s", name, out)
		}
		for line := range strings.Lines(example) {
			if kind, ok := strings.CutPrefix(line, "kind: "); ok {
				kinds[strings.TrimSpace(kind)] = true
			}
		}
	}
	if len(kinds) != len(text) {
		t.Errorf("examples of %v, %d kinds", kinds, len(text))
	}
	const infra = `{"apiVersion": "socialweb.computer/v1alpha1", "kind": "Infra", "metadata": {"name": "wrong"}, "spec": {"contracts": [{"name": "a", %s}]}}`
	for field, want := range map[string]string{
		`"polcy": "cheapest"`:       `unknown field "spec.contracts[0].polcy"`,
		`"vmReadyTimeoutSec": "1m"`: "spec.contracts[0].vmReadyTimeoutSec",
		`"state": "Bought"`:         "spec.contracts[0].state",
	} {
		if out := k.Fails(t, fmt.Sprintf(infra, field), "create", "--validate=strict", "-f", "-"); !strings.Contains(out, want) {
			t.Errorf("%s: %s", field, out)
		}
	}
	harness.Eventually(t, func(context.Context) error { // the merged OpenAPI comes later
		if r := k.Do(t, "", "explain", "infra.spec.contracts.policy"); !strings.Contains(r.Out, "policy is the name of the policy that chooses among the bids") {
			return fmt.Errorf("it explains %s%s", r.Out, r.Err)
		}
		return nil
	})
}

// definitions that kcp would make.
func definitions(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects, err := kcp.Provider()
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, s := range objects {
		if s.GetKind() != "APIResourceSchema" {
			continue
		}
		spec := s.Object["spec"].(map[string]any)
		for _, v := range spec["versions"].([]any) {
			version := v.(map[string]any)
			version["schema"] = map[string]any{"openAPIV3Schema": version["schema"]}
		}
		_, name, _ := strings.Cut(s.GetName(), ".")
		out = append(out, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name}, "spec": spec,
		}})
	}
	return out
}

// examples of our kinds, by file.
func examples(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob(filepath.Join(plane.Manifest(".."), "example", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(file)] = string(b)
	}
	own, err := fs.Glob(kcp.Files, "examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range own {
		b, err := kcp.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(b); strings.Contains(text, "apiVersion: "+v1alpha1.SchemeGroupVersion.String()) {
			// Both directories have an account and a deployment of the same name.
			text = strings.Replace(text, "\n  name: ", "\n  name: tenants-", 1)
			out[file] = text
		}
	}
	return out
}
