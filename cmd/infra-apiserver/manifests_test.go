package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// manifests are those of a deployment.
const manifests = "../../artifacts/deploy"

// Every command line of the manifests is one that the program takes.
func TestCommandLinesOfTheManifests(t *testing.T) {
	server := containers(t, "base/deployment.yaml")["apiserver"]
	lines := map[string][]string{
		"server": server.Args,
		"etcd":   containers(t, "components/etcd/etcd.yaml")["certificates"].Args,
	}
	// What the component exchanges in the server's.
	patch, err := os.ReadFile(filepath.Join(manifests, "components", "cert-manager", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	lines["with cert-manager"] = []string{"serve"}
	for _, m := range regexp.MustCompile(`value: (--\S+)`).FindAllSubmatch(patch, -1) {
		lines["with cert-manager"] = append(lines["with cert-manager"], string(m[1]))
	}
	for name, args := range lines {
		t.Run(name, func(t *testing.T) {
			if len(args) < 5 {
				t.Fatalf("only %v", args)
			}
			root := newRoot(t.Context())
			cmd, rest, err := root.Find(args)
			if err != nil || cmd == root {
				t.Fatalf("%v is no command: %v", args, err)
			}
			if err := cmd.ParseFlags(rest); err != nil {
				t.Error(err)
			}
			if extra := cmd.Flags().Args(); len(extra) > 0 {
				t.Errorf("not a flag: %v", extra)
			}
		})
	}
}

// containers of the first pod in a file, by name.
func containers(t *testing.T, file string) map[string]corev1.Container {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(manifests, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	for part := range bytes.SplitSeq(b, []byte("\n---\n")) {
		// A StatefulSet has the pod at the same place.
		var d appsv1.Deployment
		if err := yaml.Unmarshal(part, &d); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(d.Kind, "Set") && d.Kind != "Deployment" {
			continue
		}
		out := map[string]corev1.Container{}
		for _, c := range append(d.Spec.Template.Spec.InitContainers, d.Spec.Template.Spec.Containers...) {
			out[c.Name] = c
		}
		return out
	}
	t.Fatalf("%s has no pod", file)
	return nil
}
