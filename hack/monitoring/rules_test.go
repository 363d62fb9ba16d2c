package monitoring

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// dir is what is checked.
const dir = "../../artifacts/monitoring"

var (
	promQL = parser.NewParser(parser.Options{})
	engine = promql.NewEngine(promql.EngineOpts{
		Logger: promslog.NewNopLogger(), MaxSamples: 1e6, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: promQL,
	})
)

// testFile is promtool's format of tests of rules, as far as ours use it.
type testFile struct {
	RuleFiles          []string       `json:"rule_files"`
	EvaluationInterval model.Duration `json:"evaluation_interval"`
	Tests              []struct {
		Name        string         `json:"name"`
		Interval    model.Duration `json:"interval"`
		InputSeries []inputSeries  `json:"input_series"`
		Alerts      []struct {
			EvalTime  model.Duration `json:"eval_time"`
			Alertname string         `json:"alertname"`
			Expected  []expected     `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	} `json:"tests"`
}

type inputSeries struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

type expected struct {
	Labels      map[string]string `json:"exp_labels"`
	Annotations map[string]string `json:"exp_annotations"`
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unmarshal(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(read(t, name), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// alertRules are those of rules.yaml, checked as Prometheus checks them at its start.
func alertRules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.Parse(read(t, "rules.yaml"), false, model.UTF8Validation, promQL, promslog.NewNopLogger())
	for _, err := range errs {
		t.Error(err)
	}
	if len(errs) > 0 {
		t.FailNow()
	}
	var out []rulefmt.Rule
	for _, g := range groups.Groups {
		out = append(out, g.Rules...)
	}
	return out
}

// TestRules runs rules_test.yaml: each rule fires where it should, with the labels
// and the text that it should, and nowhere else. Every rule has a test that it fires
// and one that it doesn't.
func TestRules(t *testing.T) {
	var file testFile
	unmarshal(t, "rules_test.yaml", &file)
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		t.Run(test.Name, func(t *testing.T) {
			rules := map[string]*alerting{}
			for _, r := range alertRules(t) {
				rules[r.Alert] = &alerting{Rule: r, active: map[string]*alert{}}
			}
			m := load(t, time.Duration(test.Interval), test.InputSeries)
			last := time.Duration(0)
			for _, c := range test.Alerts {
				last = max(last, time.Duration(c.EvalTime))
				if rules[c.Alertname] == nil {
					t.Fatalf("there is no rule %s", c.Alertname)
				}
			}
			for at := time.Duration(0); at <= last; at += time.Duration(file.EvaluationInterval) {
				for _, r := range rules {
					r.eval(t, m, time.UnixMilli(0).Add(at))
				}
				for _, c := range test.Alerts {
					if time.Duration(c.EvalTime) == at {
						compare(t, fmt.Sprintf("%s at %s", c.Alertname, c.EvalTime), rules[c.Alertname], c.Expected)
						fires[c.Alertname] = fires[c.Alertname] || len(c.Expected) > 0
						silent[c.Alertname] = silent[c.Alertname] || len(c.Expected) == 0
					}
				}
			}
		})
	}
	for _, r := range alertRules(t) {
		if !fires[r.Alert] || !silent[r.Alert] {
			t.Errorf("%s: a test that it fires: %v, that it doesn't: %v", r.Alert, fires[r.Alert], silent[r.Alert])
		}
	}
}

// compare what fires with what should.
func compare(t *testing.T, what string, r *alerting, want []expected) {
	t.Helper()
	var is, should []string
	for _, a := range r.active {
		if a.firing {
			is = append(is, describe(a.labels, a.annotations))
		}
	}
	for _, w := range want {
		l := map[string]string{"alertname": r.Alert}
		maps.Copy(l, w.Labels)
		should = append(should, describe(l, w.Annotations))
	}
	slices.Sort(is)
	slices.Sort(should)
	if !slices.Equal(is, should) {
		t.Errorf("%s\n fires  %v\n should %v", what, is, should)
	}
}

func describe(labels, annotations map[string]string) string {
	var text strings.Builder
	for _, m := range []map[string]string{labels, annotations} {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			fmt.Fprintf(&text, "%s=%q ", k, m[k])
		}
		text.WriteString("| ")
	}
	return text.String()
}
