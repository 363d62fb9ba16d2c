package monitoring

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write prometheusrule.yaml again")

const ruleHead = `# Written from rules.yaml: cd hack/monitoring && go test ./... -update
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: infra-apiserver
  namespace: infra-system
  labels:
    app.kubernetes.io/component: apiserver
    app.kubernetes.io/name: infra-apiserver
spec:
`

// TestPrometheusRule: the Prometheus Operator's rules are those of rules.yaml.
func TestPrometheusRule(t *testing.T) {
	var b strings.Builder
	b.WriteString(ruleHead)
	for _, line := range strings.SplitAfter(string(read(t, "rules.yaml")), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			b.WriteString("  " + line)
		}
	}
	var parsed struct {
		Spec struct{ Groups []any }
	}
	if err := yaml.Unmarshal([]byte(b.String()), &parsed); err != nil || len(parsed.Spec.Groups) == 0 {
		t.Fatalf("%d groups, %v", len(parsed.Spec.Groups), err)
	}
	path := filepath.Join(dir, "prometheusrule.yaml")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if string(read(t, "prometheusrule.yaml")) != b.String() {
		t.Errorf("%s is not what rules.yaml says: go test ./... -update", path)
	}
}

var heading = regexp.MustCompile(`(?m)^#+ (.*)$`)

// TestRunbooks: each alert has a severity, says what it is about, and leads to a
// heading of docs/operations.md.
func TestRunbooks(t *testing.T) {
	doc, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(string(doc), -1) {
		a := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		anchors[strings.ReplaceAll(a, " ", "-")] = true
	}
	for _, r := range alertRules(t) {
		switch r.Labels["severity"] {
		case "critical", "warning", "info":
		default:
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s says nothing", r.Alert)
		}
		page, anchor, _ := strings.Cut(r.Annotations["runbook_url"], "#")
		if !strings.HasSuffix(page, "/docs/operations.md") || !anchors[anchor] {
			t.Errorf("%s: runbook %s#%s is not there", r.Alert, page, anchor)
		}
	}
}

// TestServiceMonitor: Prometheus calls the job what the expressions call it, and
// checks the server's certificate.
func TestServiceMonitor(t *testing.T) {
	monitor, _, _ := strings.Cut(string(read(t, "servicemonitor.yaml")), "\n---\n")
	var m struct {
		Kind string
		Spec struct {
			JobLabel  string
			Selector  struct{ MatchLabels map[string]string }
			Endpoints []struct {
				Port, Scheme, Path string
				TLSConfig          struct {
					ServerName         string
					InsecureSkipVerify bool
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(monitor), &m); err != nil {
		t.Fatal(err)
	}
	service, err := os.ReadFile("../../artifacts/deploy/base/service.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Metadata struct {
			Name, Namespace string
			Labels          map[string]string
		}
		Spec struct{ Ports []struct{ Name string } }
	}
	if err := yaml.Unmarshal(service, &s); err != nil {
		t.Fatal(err)
	}
	if m.Kind != "ServiceMonitor" || m.Spec.JobLabel != "" || s.Metadata.Name != "infra-apiserver" || len(m.Spec.Endpoints) != 1 {
		t.Fatalf("%+v of %+v", m, s)
	}
	e := m.Spec.Endpoints[0]
	if e.Port != s.Spec.Ports[0].Name || e.Scheme != "https" || e.Path != "/metrics" || e.TLSConfig.InsecureSkipVerify ||
		e.TLSConfig.ServerName != s.Metadata.Name+"."+s.Metadata.Namespace+".svc" {
		t.Errorf("endpoint %+v of %+v", e, s)
	}
	for k, v := range m.Spec.Selector.MatchLabels {
		if s.Metadata.Labels[k] != v {
			t.Errorf("it selects %s=%s, and the Service has %v", k, v, s.Metadata.Labels)
		}
	}
}

// TestServiceMonitorOfTheController: it finds the controller's Service and its port.
func TestServiceMonitorOfTheController(t *testing.T) {
	documents := strings.Split(string(read(t, "servicemonitor.yaml")), "\n---\n")
	monitor := documents[len(documents)-1]
	for _, part := range []string{"name: infra-controller\n", "app.kubernetes.io/component: controller\n", "port: metrics\n", "path: /metrics\n"} {
		if !strings.Contains(monitor, part) {
			t.Errorf("the monitor lacks %q", part)
		}
	}
	b, err := os.ReadFile("../../artifacts/deploy/base/controller.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, service, found := strings.Cut(string(b), "kind: Service\n")
	service, _, _ = strings.Cut(service, "\n---\n")
	for _, part := range []string{"name: infra-controller\n", "app.kubernetes.io/component: controller\n", "name: metrics\n"} {
		if !found || !strings.Contains(service, part) {
			t.Errorf("the Service lacks %q", part)
		}
	}
}
