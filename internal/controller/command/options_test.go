package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// What can't work with a kcp is told before anything starts.
func TestOptionsOfKCP(t *testing.T) {
	dir := t.TempDir()
	none, bad, good := filepath.Join(dir, "none"), filepath.Join(dir, "bad"), filepath.Join(dir, "good")
	for file, text := range map[string]string{bad: "x", good: `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":"https://kcp.example/clusters/root:provider"}}]}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		kubeconfig, export string
		workspaces         bool
		want               string
	}{
		{"", "", false, ""},
		{good, "computecontracts", true, ""},
		{good, "computecontracts", false, "needs --workspaces"},
		{none, "computecontracts", true, none},
		{bad, "computecontracts", true, bad},
		{good, "A", true, `"A"`},
	} {
		o := NewOptions()
		o.KCPKubeconfig, o.KCPExport, o.Workspaces = c.kubeconfig, c.export, c.workspaces
		err := o.Validate()
		if err == nil {
			_, err = o.controller(&rest.Config{})
		}
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--kcp-kubeconfig")) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
