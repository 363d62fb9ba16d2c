package harness

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/testhttp"
)

// Metrics is what a replica's /metrics says, in Prometheus' text format.
func (p *Plane) Metrics(ctx context.Context, r *Replica) (string, error) {
	text, err := get(ctx, r.Direct(p.Config()), "/metrics")
	if err != nil {
		err = fmt.Errorf("%s: %w", r.Name, err)
	}
	return text, err
}

// get reads a path of a server. What is there must be answered with 200.
func get(ctx context.Context, c *rest.Config, path string) (string, error) {
	a, err := Get(ctx, c, path)
	if err == nil {
		err = a.Want(http.StatusOK)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return string(a.Body), err
}

// Get asks a server for a path, as whoever c is and on a connection of its own. An error
// means that nobody answered.
func Get(ctx context.Context, c *rest.Config, path string) (testhttp.Answer, error) {
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		return testhttp.Answer{}, err
	}
	defer client.CloseIdleConnections()
	return testhttp.Get(ctx, client, c.Host+path)
}

// Metric is the sum of a metric's samples whose labels include all of those given, as
// `name="value"`.
func Metric(text, name string, labels ...string) float64 {
	sum := 0.0
lines:
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(rest, l) {
				continue lines
			}
		}
		fields := strings.Fields(rest[strings.LastIndexByte(rest, '}')+1:])
		if v, err := strconv.ParseFloat(fields[0], 64); err == nil {
			sum += v
		}
	}
	return sum
}
