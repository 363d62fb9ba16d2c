package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/kcp/provider"
)

// workspaces are two contexts of a kubeconfig; nobody answers there.
const workspaces = `{apiVersion: v1, kind: Config, current-context: a,
  clusters: [{name: a, cluster: {server: "https://127.0.0.1:1/clusters/root:a"}}, {name: b, cluster: {server: "https://127.0.0.1:1/clusters/root:b"}}],
  contexts: [{name: a, context: {cluster: a}}, {name: b, context: {cluster: b}}]}`

func TestKCPInitCommandLine(t *testing.T) {
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(workspaces), 0o600); err != nil {
		t.Fatal(err)
	}
	const url = "--url=https://kcp.example.com/services/infra"
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no URL":         {[]string{"--kubeconfig", kubeconfig}, "--url is needed"},
		"no kubeconfig":  {[]string{"--kubeconfig", filepath.Join(dir, "none"), url}, "kubeconfig: "},
		"no context":     {[]string{"--kubeconfig", kubeconfig, "--context", "c", url}, `context "c" does not exist`},
		"no authorities": {[]string{"--kubeconfig", kubeconfig, url, "--url-ca-file", filepath.Join(dir, "none")}, "--url-ca-file: "},
		"half a pair":    {[]string{"--kubeconfig", kubeconfig, url, "--shard-client-cert-file", kubeconfig}, "--shard-client-key-file: "},
		"no kcp":         {[]string{"--kubeconfig", kubeconfig, url}, "https://127.0.0.1:1/clusters/root:a/apis/"},
		"context":        {[]string{"--kubeconfig", kubeconfig, "--context", "b", url}, "https://127.0.0.1:1/clusters/root:b/apis/"},
	} {
		root := newRoot(t.Context())
		root.SetArgs(append([]string{"kcp", "init"}, c.args...))
		root.SetOut(&bytes.Buffer{})
		root.SetErr(&bytes.Buffer{})
		if err := root.Execute(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTell(t *testing.T) {
	var out bytes.Buffer
	tell(&out, &provider.Report{Faults: []provider.Finding{{Fault: "a", Remedy: "b"}}, Unknown: []provider.Finding{{Fault: "c", Remedy: "d"}}})
	if got := out.String(); got != "- a\n  b\n? c\n  d\n" {
		t.Errorf("%q", got)
	}
}
