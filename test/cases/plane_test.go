//go:build e2e

package cases

import (
	"testing"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// plane takes dev's place: the same cases go through the aggregator of a real
// control plane, to two replicas, onto the reference PDS. They come one after the
// other, and each finds no objects.
var plane *harness.Plane

func init() {
	begin, onDev = beginPlane, false
	run = func(m *testing.M) { harness.Main(m, &plane, harness.Options{NoControllerManager: true}) }
}

func beginPlane(t *testing.T) *server {
	t.Helper()
	t.Cleanup(func() { plane.Empty(t) })
	return planeServer()
}

func planeServer() *server {
	return &server{plane.Config(), plane.Admin().Infra, plane.Repo, func(t *testing.T) *server {
		t.Helper()
		for _, r := range plane.Replicas {
			r.Kill(t)
		}
		for _, r := range plane.Replicas {
			r.Start(t)
		}
		plane.Available(t, true)
		return planeServer()
	}}
}
