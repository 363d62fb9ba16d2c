package harness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
)

// Metrics is what a replica's /metrics says, in Prometheus' text format.
func (p *Plane) Metrics(ctx context.Context, r *Replica) (string, error) {
	text, err := p.get(ctx, r.Direct(p.Config()), "/metrics")
	if err != nil {
		err = fmt.Errorf("%s: %w", r.Name, err)
	}
	return text, err
}

// get reads a path of a server.
func (p *Plane) get(ctx context.Context, c *rest.Config, path string) (string, error) {
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Host+path, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", path, resp.Status, b)
	}
	return string(b), err
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
