//go:build e2e

package observability

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testotlp"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// TestOneTraceOfAPatch: a kubectl patch is one trace: kube-apiserver's request, its
// call of ours, our request, the storage's steps, the call to the PDS.
func TestOneTraceOfAPatch(t *testing.T) {
	t.Parallel()
	name := plane.Infra(t)
	plane.Kubectl(t).Run(t, "patch", "infra", name, "--type=merge", "-p", `{"spec":{"description":"traced"}}`)
	// The request's span has its path, with the object's name.
	mine := func(s *testotlp.Span) bool {
		return strings.HasPrefix(s.Name, "PATCH ") && strings.Contains(s.String(), "/infras/"+name)
	}
	const request = "PATCH /apis/socialweb.computer/v1alpha1/infras/{:name}"
	above := request + " > HTTP PATCH > " + request + " > "
	harness.Eventually(t, func(context.Context) error {
		var seen []string
		for _, s := range collector.Find(mine) {
			tree := testotlp.Tree(collector.Trace(hex.EncodeToString(s.TraceId)), "PATCH ", "HTTP PATCH", "repostore.", "com.atproto.")
			if slices.Contains(tree, above+"repostore.intent") && slices.Contains(tree, above+"repostore.finalize") &&
				slices.Contains(tree, above+"repostore.put > com.atproto.repo.putRecord") {
				return nil
			}
			seen = append(seen, strings.Join(tree, "\n"))
		}
		return fmt.Errorf("the trace of the patch is not whole: %s", strings.Join(seen, "\n\n"))
	})
}
