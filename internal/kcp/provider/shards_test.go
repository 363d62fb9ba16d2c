package provider

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

func TestMatch(t *testing.T) {
	one := []shard{{"the shard root", "https://kcp.example.com"}}
	two := append(one, shard{"the shard eu", "https://eu.example.com:6443/vw"}) //nolint:gocritic // another list
	for name, c := range map[string]struct {
		shards []shard
		urls   []string
		want   []string
	}{
		"one":                {one, []string{"https://kcp.example.com/services/infra"}, nil},
		"one each":           {two, []string{"https://kcp.example.com/services/infra", "https://eu.example.com:6443/vw/services/infra"}, nil},
		"another host":       {one, []string{"https://infra.example.com/services/infra"}, []string{"the shard root takes its virtual workspaces from https://kcp.example.com, which no --url begins with"}},
		"a port":             {two, []string{"https://kcp.example.com/services/infra"}, []string{"the shard eu takes"}},
		"outside the prefix": {two, []string{"https://kcp.example.com/services/infra", "https://eu.example.com:6443/services/infra"}, []string{"the shard eu takes"}},
		"two for one":        {one, []string{"https://kcp.example.com/services/infra", "https://kcp.example.com/services/infra2"}, []string{"can't tell which is meant"}},
		"neither":            {two, []string{"https://infra.example.com"}, []string{"the shard root", "the shard eu"}},
	} {
		found := match(c.shards, c.urls)
		if len(found) != len(c.want) {
			t.Errorf("%s: %v", name, found)
			continue
		}
		for i, part := range c.want {
			if !strings.Contains(found[i].Fault, part) {
				t.Errorf("%s: %v", name, found[i])
			}
		}
	}
	remedy := match(one, []string{"https://infra.example.com"})[0].Remedy
	for _, part := range []string{"--url=https://kcp.example.com/services/infra", "--shard-virtual-workspace-url"} {
		if !strings.Contains(remedy, part) {
			t.Errorf("remedy %s", remedy)
		}
	}
}

// objects of a YAML list.
func items(t *testing.T, text string) []unstructured.Unstructured {
	t.Helper()
	var list []map[string]any
	if err := yaml.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	var out []unstructured.Unstructured
	for _, content := range list {
		out = append(out, unstructured.Unstructured{Object: content})
	}
	return out
}

func TestPrefixes(t *testing.T) {
	got := shardsOf(items(t, `
- metadata: {name: root}
  spec: {baseURL: https://base.example.com, externalURL: https://x.example.com, virtualWorkspaceURL: https://vw.example.com}
- metadata: {name: eu}
  spec: {baseURL: https://eu.example.com:6443}
- metadata: {name: broken}
`))
	if want := []shard{{"the shard root", "https://vw.example.com"}, {"the shard eu", "https://eu.example.com:6443"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("shards %v", got)
	}
	got, err := prefixesOf(items(t, `
- metadata: {name: tenancy}
  status:
    endpoints:
    - url: https://vw.example.com/services/apiexport/2hfmzjr2n6xk1pwf/tenancy
    - url: https://eu.example.com:6443/vw/services/apiexport/2hfmzjr2n6xk1pwf/tenancy
- metadata: {name: other}
  status:
    endpoints:
    - url: https://vw.example.com/services/apiexport/2hfmzjr2n6xk1pwf/other
    - url: https://else.example.com/
- metadata: {name: empty}
`))
	if want := []shard{{"a shard", "https://vw.example.com"}, {"a shard", "https://eu.example.com:6443/vw"}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("prefixes %v, %v", got, err)
	}
}

// From the provider workspace's URL follow those of the root workspace and of a virtual
// workspace.
func TestElsewhere(t *testing.T) {
	for host, want := range map[string]string{
		"https://kcp.example.com/clusters/root:provider":    "https://kcp.example.com/clusters/root",
		"https://kcp.example.com/x/clusters/root:provider/": "https://kcp.example.com/x/clusters/root",
		"https://plain.example.com":                         "https://plain.example.com",
	} {
		w := &workspace{config: &rest.Config{Host: host}}
		if got, err := w.rootURL(); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v", host, got, err)
		}
	}
	got, err := wildcardURL("https://vw.example.com/services/apiexport/2hfmzjr2n6xk1pwf/computecontracts")
	if err != nil || got.String() != "https://vw.example.com/services/apiexport/2hfmzjr2n6xk1pwf/computecontracts/clusters/*" {
		t.Errorf("%v, %v", got, err)
	}
}
