package api

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubectl runs kubectl, which make builds into bin/.
func (s *server) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", "bin", "kubectl"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		t.Fatalf("%v: make bin/kubectl builds it", err)
	}
	cmd := exec.CommandContext(t.Context(), bin, append([]string{"--kubeconfig", s.kubeconfig(t), "--cache-dir", filepath.Join(s.creds, "cache")}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// kubeconfig is a file that reaches the server as the tests' own client does.
func (s *server) kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(s.creds, "kubeconfig")
	c := clientcmdapi.NewConfig()
	c.Clusters["s"] = &clientcmdapi.Cluster{
		Server: s.config.Host, CertificateAuthorityData: s.config.CAData, TLSServerName: s.config.ServerName,
	}
	c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: s.config.BearerToken}
	c.Contexts["c"] = &clientcmdapi.Context{Cluster: "s", AuthInfo: "u"}
	c.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestImmediateWithKubectl: the same by kubectl itself, 20 times.
func TestImmediateWithKubectl(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	for i := range 20 {
		want := fmt.Sprintf("edit %d", i)
		e.account.put(t, "a", infraRecord(want))
		args := []string{"get", "infra", "a", "-o", "jsonpath={.spec.description}"}
		if i%2 == 1 {
			args = []string{"get", "infras", "-o", "jsonpath={.items[0].spec.description}"}
		}
		if got := e.kubectl(t, args...); got != want {
			t.Errorf("kubectl %v: %q after %q was written", args, got, want)
		}
	}
}
