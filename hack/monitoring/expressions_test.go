package monitoring

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
)

// metric is a line of metrics.txt.
type metric struct {
	kind   string
	labels []string
}

// targetLabels are those that the scrape adds.
var targetLabels = []string{"job", "instance", "namespace", "pod"}

// known are the metrics that server and controller have, by the names that expressions
// use.
func known(t *testing.T) map[string]metric {
	t.Helper()
	out := map[string]metric{"up": {kind: "gauge"}}
	text := string(read(t, "metrics.txt")) + string(read(t, "metrics-controller.txt"))
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := append(strings.Fields(line), "")
		m := metric{kind: fields[1], labels: strings.Split(fields[2], ",")}
		if m.kind != "histogram" {
			out[fields[0]] = m
			continue
		}
		out[fields[0]+"_sum"], out[fields[0]+"_count"] = m, m
		m.labels = append(slices.Clone(m.labels), "le")
		out[fields[0]+"_bucket"] = m
	}
	return out
}

// check parses an expression, and looks at each metric in it.
func check(where, text string, known map[string]metric, used map[string]bool) (faults []string) {
	complain := func(format string, args ...any) { faults = append(faults, where+": "+fmt.Sprintf(format, args...)) }
	expr, err := promQL.ParseExpr(text)
	if err != nil {
		complain("%v in %s", err, text)
		return faults
	}
	parser.Inspect(expr, func(n parser.Node, path []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		m, ok := known[s.Name]
		used[s.Name] = true
		if !ok {
			complain("no server has the metric %s", s.Name)
			return nil
		}
		named := map[string]bool{}
		for _, l := range s.LabelMatchers {
			named[l.Name] = true
			if l.Name != model.MetricNameLabel && !slices.Contains(m.labels, l.Name) && !slices.Contains(targetLabels, l.Name) {
				complain("%s has no label %s", s.Name, l.Name)
			}
		}
		if !named["job"] {
			complain("%s is asked of every job", s.Name)
		}
		counts := m.kind == "counter" || m.kind == "histogram"
		if counts != slices.ContainsFunc(path, func(n parser.Node) bool { _, ok := n.(*parser.MatrixSelector); return ok }) {
			complain("%s is a %s: a counter needs a rate, a gauge none", s.Name, m.kind)
		}
		for _, n := range path {
			if a, ok := n.(*parser.AggregateExpr); ok && !a.Without {
				for _, l := range a.Grouping {
					if !slices.Contains(m.labels, l) && !slices.Contains(targetLabels, l) {
						complain("%s is grouped by %s, which it hasn't", s.Name, l)
					}
				}
			}
		}
		return nil
	})
	return faults
}

// dashboard is what the check needs of a Grafana dashboard.
type dashboard struct {
	UID        string
	Panels     []panel
	Templating struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
}

type panel struct {
	ID          int
	Title       string
	Type        string
	Description string
	Panels      []panel
	Targets     []struct{ Expr, LegendFormat, RefID string }
}

// variables are put where the dashboard has Grafana's.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$__interval", "1m", "$job", "infra-apiserver", "$workspace", ".*", "$instance", ".*")

// variableQuery is the query of a dashboard's variable: label_values(metric, label).
var variableQuery = regexp.MustCompile(`^label_values\((.*), *[a-z_]+\)$`)

// TestExpressions: each expression of the rules and of the dashboard parses and asks
// for metrics and labels that a server has, and every metric of ours is in one.
func TestExpressions(t *testing.T) {
	metrics, used := known(t), map[string]bool{}
	var faults []string
	for _, r := range alertRules(t) {
		faults = append(faults, check(r.Alert, r.Expr, metrics, used)...)
	}
	var d dashboard
	if err := json.Unmarshal(read(t, "dashboard.json"), &d); err != nil {
		t.Fatal(err)
	}
	panels, ids := d.Panels, map[int]bool{}
	for i := 0; i < len(panels); i++ {
		p := panels[i]
		panels = append(panels, p.Panels...)
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		if p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d %q shows nothing", p.ID, p.Title)
		}
		for _, target := range p.Targets {
			faults = append(faults, check("panel "+p.Title, variables.Replace(target.Expr), metrics, used)...)
		}
	}
	if len(panels) < 20 {
		t.Errorf("%d panels", len(panels))
	}
	for _, v := range d.Templating.List {
		query, _ := v.Query.(string)
		if v.Type != "query" {
			continue
		}
		m := variableQuery.FindStringSubmatch(query)
		if m == nil {
			t.Errorf("variable %s asks %q", v.Name, query)
			continue
		}
		faults = append(faults, check("variable "+v.Name, "rate("+m[1]+"[1m])", gauges(metrics), used)...)
	}
	for _, f := range faults {
		t.Error(f)
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if metrics[name].kind == "histogram" && (used[base+"_bucket"] || used[base+"_count"]) {
			continue
		}
		if strings.HasPrefix(name, "infra_apiserver_") && !used[name] {
			t.Errorf("neither the dashboard nor a rule uses %s", name)
		}
	}
}

// gauges makes counters of all: a variable's query asks for series, not for values.
func gauges(all map[string]metric) map[string]metric {
	out := map[string]metric{}
	for name, m := range all {
		out[name] = metric{"counter", m.labels}
	}
	return out
}

// TestCheckFindsFaults: the check itself complains about what is wrong.
func TestCheckFindsFaults(t *testing.T) {
	metrics := map[string]metric{"a_total": {"counter", []string{"code"}}, "g": {"gauge", nil}}
	for expr, want := range map[string]string{
		`sum by (code) (rate(a_total{job="j",code="x"}[5m]))`: "",
		`g{job="j"} > 1`:                          "",
		`rate(b_total{job="j"}[5m])`:              "no server has",
		`rate(a_total{job="j",method="x"}[5m])`:   "no label",
		`rate(a_total[5m])`:                       "every job",
		`a_total{job="j"}`:                        "needs a rate",
		`rate(g{job="j"}[5m])`:                    "needs a rate",
		`sum by (x) (rate(a_total{job="j"}[5m]))`: "grouped by",
		`rate(a_total{job="j"}[5m]`:               "unclosed",
	} {
		got := strings.Join(check("here", expr, metrics, map[string]bool{}), "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}
