//go:build e2e

package observability

import (
	"fmt"
	"os"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testotlp"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

var (
	plane     *harness.Plane
	collector *testotlp.Collector
)

// policy of both servers' audit logs: every stage of every request for our kinds.
const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: Metadata
  resources:
  - group: socialweb.computer
- level: None
`

func TestMain(m *testing.M) {
	// Spans are exported soon after they end, by all processes, and none is dropped while
	// the collector is slow.
	for name, value := range map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "200", "OTEL_BSP_MAX_QUEUE_SIZE": "100000"} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	var err error
	if collector, err = testotlp.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	observed := func(log string) []string {
		return []string{
			"--audit-policy-file={dir}/observe/policy.yaml", "--audit-log-path={dir}/" + log,
			"--audit-log-mode=blocking-strict", "--tracing-config-file={dir}/observe/tracing.yaml",
		}
	}
	harness.Main(m, &plane, harness.Options{
		Replicas: 1, NoControllerManager: true,
		APIServerFlags: observed(kubeAudit), ReplicaFlags: observed(ourAudit),
		Files: map[string]string{"observe/policy.yaml": policy, "observe/tracing.yaml": collector.Config(1_000_000)},
	})
}

// The audit logs in the plane's directory.
const kubeAudit, ourAudit = "kube-audit.jsonl", "our-audit.jsonl"
