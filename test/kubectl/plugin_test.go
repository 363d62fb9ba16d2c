package kubectl

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/kubectlinfra"
	"socialweb.computer/infra-apiserver/internal/testkubectl"
	"socialweb.computer/infra-apiserver/internal/testwait"
)

// asPlugin makes this test's program the plugin, so that none has to be built.
const asPlugin = "TEST_AS_KUBECTL_INFRA"

// completionTime is how long the plugin looks for what it offers; then it offers nothing.
const completionTime = 5 * time.Second

// plugin runs the plugin where kubectl has called it.
func plugin() (code int, called bool) {
	if os.Getenv(asPlugin) == "" {
		return 0, false
	}
	return kubectlinfra.Run(context.Background(), os.Args[1:], kubectlinfra.Streams{Out: os.Stdout, Err: os.Stderr}), true
}

// withPlugin is kubectl with the plugin and its completion on the PATH.
func withPlugin(t *testing.T, k *testkubectl.Kubectl) *testkubectl.Kubectl {
	t.Helper()
	root, err := testkubectl.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "bin", "kubectl"), filepath.Join(dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
	write("kubectl-infra", "#!/bin/sh\n"+asPlugin+"=1 exec '"+self+"' \"$@\"\n")
	k = k.With("PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH"))
	write("kubectl_complete-infra", k.Run(t, "infra", "completion"))
	return k
}

// testPlugin: kubectl finds the plugin, gives it the cluster and passes on what it
// says and its exit code; and its completion.
func testPlugin(t *testing.T, e env) {
	e.create(t, "plugged")
	k := withPlugin(t, e.k)
	if out := k.Run(t, "infra", "request", "plugged", "web"); out != "infra.socialweb.computer/plugged contract/web requested\n" {
		t.Error(out)
	}
	if c := e.record(t, "plugged")["contracts"].([]any)[0].(map[string]any); c["state"] != "requested" {
		t.Errorf("the record has %v", c)
	}
	if out := k.Run(t, "infra", "tree", "inf/plugged"); !strings.Contains(out, "\nInfra/plugged") || !strings.Contains(out, "─Contract/web") {
		t.Error(out)
	}
	if out := k.Run(t, "infra", "record", "plugged"); !strings.Contains(strings.Join(strings.Fields(out), " "), ` contracts[0].state "requested" "requested" `) {
		t.Error(out)
	}
	if r := k.Do(t, "", "infra", "record", "nothing", "--exit-code"); r.Code != 2 || r.Err != "Error from server (NotFound): infras.socialweb.computer \"nothing\" not found\n" {
		t.Errorf("%+v", r)
	}
	if r := k.Do(t, "", "infra", "wait", "plugged", "--for=phase=Degraded", "--timeout=0"); r.Code != 1 || r.Err != "error: condition not met for infras/plugged\n" {
		t.Errorf("%+v", r)
	}
	testwait.Until(t, "completion in time", func() error {
		begin := time.Now()
		out := k.Run(t, "__complete", "infra", "release", "plugged", "")
		if strings.HasPrefix(out, "web\tRequested\n") {
			return nil
		}
		if time.Since(begin) < completionTime {
			t.Fatalf("kubectl completes the plugin's arguments with %s", out)
		}
		return errors.New("it took too long")
	})
}
