package monitoring

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
)

// alerting is an alert rule at work, as Prometheus evaluates it: what its expression
// yields is pending, and fires once it has been there for its time.
type alerting struct {
	rulefmt.Rule
	active map[string]*alert // by labels
}

// alert is what one element of the expression's vector made.
type alert struct {
	labels, annotations map[string]string
	since               time.Time
	firing              bool
}

// query evaluates an expression at one time.
func query(ctx context.Context, m memory, expr string, at time.Time) (promql.Vector, error) {
	q, err := engine.NewInstantQuery(ctx, m, nil, expr, at)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	res := q.Exec(ctx)
	switch v := res.Value.(type) {
	case promql.Scalar:
		return promql.Vector{{T: v.T, F: v.V}}, res.Err
	case promql.Vector:
		return append(promql.Vector(nil), v...), res.Err // the query's own is reused
	default:
		return nil, res.Err
	}
}

// eval evaluates the rule at one time.
func (r *alerting) eval(t *testing.T, m memory, at time.Time) {
	t.Helper()
	vector, err := query(t.Context(), m, r.Expr, at)
	if err != nil {
		t.Fatalf("%s: %v", r.Alert, err)
	}
	seen := map[string]bool{}
	for _, s := range vector {
		a := &alert{labels: map[string]string{}, annotations: map[string]string{}, since: at}
		s.Metric.Range(func(l labels.Label) {
			if l.Name != model.MetricNameLabel {
				a.labels[l.Name] = l.Value
			}
		})
		for k, v := range r.Labels {
			a.labels[k] = r.expand(t, m, v, s, at)
		}
		for k, v := range r.Annotations {
			a.annotations[k] = r.expand(t, m, v, s, at)
		}
		a.labels[labels.AlertName] = r.Alert
		key := labels.FromMap(a.labels).String()
		if seen[key] {
			t.Fatalf("%s: two alerts with the labels %s", r.Alert, key)
		}
		seen[key] = true
		if old := r.active[key]; old != nil {
			old.annotations = a.annotations
		} else {
			r.active[key] = a
		}
	}
	for key, a := range r.active {
		if !seen[key] {
			delete(r.active, key)
		} else if at.Sub(a.since) >= time.Duration(r.For) {
			a.firing = true
		}
	}
}

// expand fills a label or an annotation in.
func (r *alerting) expand(t *testing.T, m memory, text string, s promql.Sample, at time.Time) string {
	t.Helper()
	const names = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
	ask := func(ctx context.Context, q string, at time.Time) (promql.Vector, error) { return query(ctx, m, q, at) }
	data := template.AlertTemplateData(s.Metric.Map(), nil, "", s)
	out, err := template.NewTemplateExpander(t.Context(), names+text, "__alert_"+r.Alert, data, model.TimeFromUnixNano(at.UnixNano()), ask, &url.URL{}, nil).Expand()
	if err != nil || strings.Contains(out, "<no value>") {
		t.Errorf("%s: %q becomes %q: %v", r.Alert, text, out, err)
	}
	return out
}
