package render

import (
	"encoding/json"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/hack/deploy/manifests"
)

// Every value that the chart offers changes what is rendered.
func TestEveryValueCounts(t *testing.T) {
	other := map[string]any{
		"image": "registry.test/other:1", "imagePullSecrets": []any{map[string]any{"name": "other-pull"}}, "replicas": 5,
		"priorityClassName": "other-class", "resources": map[string]any{"limits": map[string]any{"memory": "77Mi"}},
		"extraArgs":         []any{"--other=1"},
		"extraVolumes":      []any{map[string]any{"name": "other", "emptyDir": map[string]any{}}},
		"extraVolumeMounts": []any{map[string]any{"name": "other", "mountPath": "/other"}},
		"podAnnotations":    map[string]any{"other": "1"}, "nodeSelector": map[string]any{"other": "1"},
		"tolerations":           []any{map[string]any{"key": "other"}},
		"credentials.namespace": "other-credentials", "credentials.createNamespace": false, "networkPolicy.enabled": false,
		"controller.enabled": false, "controller.replicas": 7, "controller.resources": map[string]any{"limits": map[string]any{"memory": "79Mi"}},
		"controller.extraArgs": []any{"--other=2"}, "controller.podAnnotations": map[string]any{"other": "2"},
		"controller.extraVolumes":      []any{map[string]any{"name": "other2", "emptyDir": map[string]any{}}},
		"controller.extraVolumeMounts": []any{map[string]any{"name": "other2", "mountPath": "/other2"}},
		"etcd.enabled":                 false, "etcd.image": "registry.test/etcd:1", "etcd.storage": "77Gi", "etcd.storageClassName": "other-class",
		"etcd.resources": map[string]any{"limits": map[string]any{"memory": "78Mi"}}, "externalEtcd.servers": "https://other:2379",
		"certManager.enabled": true,
	}
	before := text(t, helm(t, nil))
	for _, v := range manifests.Values() {
		t.Run(v.Name, func(t *testing.T) {
			value, ok := other[v.Name]
			if !ok {
				t.Fatal("the test knows no other value of it")
			}
			values, base := set(map[string]any{}, v.Name, value), before
			if strings.HasPrefix(v.Name, "externalEtcd.") || v.Name == "etcd.enabled" {
				values = set(set(values, "etcd.enabled", false), "externalEtcd.servers", "https://other:2379")
			}
			after := text(t, helm(t, values))
			if after == base {
				t.Error("nothing changed")
			}
			switch v := value.(type) {
			case string:
				if !strings.Contains(after, v) {
					t.Errorf("%q is nowhere", v)
				}
			case []any, map[string]any:
				if b, err := json.Marshal(v); err != nil || !strings.Contains(after, strings.Trim(string(b), "[]{}")) {
					t.Errorf("%s is nowhere, error %v", b, err)
				}
			}
		})
	}
	// The default of a Text that replaces a name must be that name.
	for _, v := range manifests.Values() {
		if v.Replaces != "" && v.Required == "" && v.Default != v.Replaces {
			t.Errorf("%s: default %v, which stands for %q", v.Name, v.Default, v.Replaces)
		}
	}
}

func set(values map[string]any, name string, value any) map[string]any {
	group, key, nested := strings.Cut(name, ".")
	if !nested {
		values[name] = value
		return values
	}
	inner, _ := values[group].(map[string]any)
	if inner == nil {
		inner = map[string]any{}
		values[group] = inner
	}
	inner[key] = value
	return values
}

func text(t *testing.T, objects map[string]any) string {
	t.Helper()
	b, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestChartRefuses(t *testing.T) {
	for _, c := range []struct {
		values map[string]any
		want   string
	}{
		{map[string]any{"replica": 3}, "replica"},
		{map[string]any{"replicas": "three"}, "replicas"},
		{map[string]any{"etcd": map[string]any{"enabled": false}}, "set externalEtcd.servers"},
	} {
		if _, err := renderChart(t, c.values); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.values, err, c.want)
		}
	}
}

func TestPatchesCanBeCombined(t *testing.T) {
	list := func(items ...any) map[string]any { return map[string]any{"l": items} }
	for _, c := range []struct {
		before, after map[string]any
		want          string
	}{
		{list("a"), list("a"), "[]"},
		{list("a"), list("a", "b"), `[{"op":"add","path":"/l/-","value":"b"}]`},
		{list("a"), list("c"), `[{"op":"test","path":"/l/0","value":"a"},{"op":"replace","path":"/l/0","value":"c"}]`},
		{list(), map[string]any{"l": []any{}, "x/~y": 1.0}, `[{"op":"add","path":"/x~1~0y","value":1}]`},
		{list("a", "b"), list("a"), "a list gets shorter"},
		{list("a"), map[string]any{}, "may not remove"},
	} {
		ops, err := difference("", c.before, c.after)
		b, _ := json.Marshal(ops) // they were made of JSON
		got := strings.Replace(string(b), "null", "[]", 1)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%v to %v: %s, want %s", c.before, c.after, got, c.want)
		}
	}
}
