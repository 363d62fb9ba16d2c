package render

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"

	"socialweb.computer/infra-apiserver/hack/deploy/manifests"
)

// deployed is where the generated files lie.
const deployed = "../../../artifacts/deploy"

// The variants there are, by how each tool is told to make it.
var variants = []struct {
	name       string
	variant    manifests.Variant
	components []string
	values     map[string]any
}{
	{"default", manifests.Variant{Etcd: manifests.EtcdInCluster}, []string{"etcd"}, nil},
	{
		"external etcd", manifests.Variant{Etcd: manifests.EtcdExternal}, []string{"external-etcd"},
		map[string]any{"etcd": map[string]any{"enabled": false}, "externalEtcd": map[string]any{"servers": manifests.ExternalEtcdServers}},
	},
	{
		"cert-manager", manifests.Variant{Etcd: manifests.EtcdInCluster, CertManager: true}, []string{"etcd", "cert-manager"},
		map[string]any{"certManager": map[string]any{"enabled": true}},
	},
	{
		"both", manifests.Variant{Etcd: manifests.EtcdExternal, CertManager: true}, []string{"cert-manager", "external-etcd"},
		map[string]any{
			"etcd": map[string]any{"enabled": false}, "externalEtcd": map[string]any{"servers": manifests.ExternalEtcdServers},
			"certManager": map[string]any{"enabled": true},
		},
	},
}

// What lies there is what would be written.
func TestFilesAreUpToDate(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(deployed, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not up to date (%v): run make generate", name, err)
		}
	}
	stale, err := Stale(deployed, files)
	if err != nil || len(stale) > 0 {
		t.Errorf("no longer generated: %v, error %v", stale, err)
	}
}

func TestWriteRemovesWhatIsStale(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"old.yaml": generated + "x: 1\n", "mine.yaml": "x: 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "old.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the stale file is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "mine.yaml")); err != nil {
		t.Errorf("somebody's file: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "base", "deployment.yaml")); err != nil {
		t.Error(err)
	}
}

// The components, combined with the base by kustomize itself, make the variants.
func TestKustomizeMakesTheVariants(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			compare(t, kustomize(t, v.components...), variant(t, v.variant))
		})
	}
	t.Run("the example", func(t *testing.T) {
		compare(t, build(t, filesys.MakeFsOnDisk(), filepath.Join(deployed, "default")), variant(t, variants[0].variant))
	})
}

// The chart, rendered by Helm itself, makes the same objects.
func TestHelmMakesTheVariants(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			want := variant(t, v.variant)
			delete(want, "v1 Namespace /"+manifests.Namespace) // --create-namespace makes it
			compare(t, helm(t, v.values), want)
		})
	}
}

// variant is what the typed objects are.
func variant(t *testing.T, v manifests.Variant) map[string]any {
	t.Helper()
	trees, err := Variant(v)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for _, tree := range trees {
		add(t, out, tree)
	}
	return out
}

// kustomize builds base and components.
func kustomize(t *testing.T, components ...string) map[string]any {
	t.Helper()
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	memory := filesys.MakeFsInMemory()
	k := kustomization{APIVersion: "kustomize.config.k8s.io/v1beta1", Kind: "Kustomization", Resources: []string{"../base"}}
	for _, c := range components {
		k.Components = append(k.Components, "../components/"+c)
	}
	if err := writeKustomization(files, "combined", "", k); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := memory.WriteFile("/"+name, content); err != nil {
			t.Fatal(err)
		}
	}
	return build(t, memory, "/combined")
}

func build(t *testing.T, fs filesys.FileSystem, dir string) map[string]any {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return split(t, string(text))
}

// helm renders the chart, after its schema has accepted the values.
func helm(t *testing.T, values map[string]any) map[string]any {
	t.Helper()
	rendered, err := renderChart(t, values)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for name, text := range rendered {
		if strings.HasSuffix(name, ".yaml") {
			maps.Copy(out, split(t, text))
		}
	}
	return out
}

func renderChart(t *testing.T, values map[string]any) (map[string]string, error) {
	t.Helper()
	return renderIn(t, manifests.Namespace, values)
}

func renderIn(t *testing.T, namespace string, values map[string]any) (map[string]string, error) {
	t.Helper()
	chart, err := loader.LoadDir(filepath.Join(deployed, chartDir))
	if err != nil {
		t.Fatal(err)
	}
	if values == nil {
		values = map[string]any{}
	}
	release := common.ReleaseOptions{Name: "r", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

// split reads objects, by what tells them apart.
func split(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for part := range strings.SplitSeq("\n"+text, "\n---") {
		var tree map[string]any
		if err := yaml.UnmarshalStrict([]byte(part), &tree); err != nil {
			t.Fatalf("%v in:\n%s", err, part)
		}
		if tree != nil {
			add(t, out, tree)
		}
	}
	return out
}

func add(t *testing.T, to, tree map[string]any) {
	t.Helper()
	meta, _ := tree["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	id := fmt.Sprintf("%v %v %s/%v", tree["apiVersion"], tree["kind"], namespace, meta["name"])
	if to[id] != nil {
		t.Errorf("%s is there twice", id)
	}
	to[id] = tree
}

func compare(t *testing.T, got, want map[string]any) {
	t.Helper()
	if len(want) < 15 {
		t.Errorf("only %d objects", len(want))
	}
	g, w := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))
	if d := cmp.Diff(w, g); d != "" {
		t.Errorf("objects (-want +got):\n%s", d)
	}
	for id := range want {
		if d := cmp.Diff(want[id], got[id]); got[id] != nil && d != "" {
			t.Errorf("%s (-want +got):\n%s", id, d)
		}
	}
}
