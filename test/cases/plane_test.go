//go:build e2e

package cases

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// plane takes dev's place: the same cases go through the aggregator of a real
// control plane, to two replicas, onto the reference PDS. They come one after the
// other, and each finds no objects.
var plane *harness.Plane

func init() {
	begin, onDev = beginPlane, false
	manyObjects, populate = 1200, ingest
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
		plane.Available(t, false) // or what is told below could be of before
		for _, r := range plane.Replicas {
			r.Start(t)
		}
		plane.Available(t, true)
		return planeServer()
	}}
}

// ingest makes the objects by their records, many at once: the PDS takes some thirty
// single writes a second.
func ingest(t *testing.T, e *env, all []string, half func(int) bool) {
	t.Helper()
	plane.CreateRecords(t, collection, all, func(rkey string) map[string]any {
		return map[string]any{"description": "of " + rkey, "contracts": []any{map[string]any{"name": "web", "state": "staged"}}, "createdAt": "2026-01-01T00:00:00Z"}
	})
	harness.Eventually(t, func(ctx context.Context) error { // a read waits for all of it, and may have to ask again
		_, err := e.infras.Get(ctx, all[len(all)-1], metav1.GetOptions{})
		return err
	})
	workqueue.ParallelizeUntil(t.Context(), 16, len(all), func(i int) {
		if !half(i) {
			return
		}
		if _, err := e.infras.Patch(t.Context(), all[i], types.MergePatchType, []byte(`{"metadata":{"labels":{"half":"yes"}}}`), metav1.PatchOptions{}); err != nil {
			t.Errorf("label %s: %v", all[i], err)
		}
	})
}
