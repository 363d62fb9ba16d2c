//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

func TestKubectlThroughTheAggregator(t *testing.T) {
	t.Parallel()
	name := plane.Infra(t)
	k := plane.Kubectl(t)
	k.Run(t, "patch", "infra", name, "--type=merge", "-p", `{"spec":{"description":"patched"}}`)
	if out := k.Run(t, "get", "infras", name, "-o", "jsonpath={.spec.description}"); out != "patched" {
		t.Errorf("description %q", out)
	}
	if out := k.Run(t, "get", "apiservice", "v1alpha1.socialweb.computer"); !strings.Contains(out, "True") {
		t.Errorf("APIService: %s", out)
	}
}
