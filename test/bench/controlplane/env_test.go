//go:build e2e

package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// env is both sides, and what is behind them.
type env struct {
	// ours through the aggregator, ours at its own port, and the CRD.
	ours, direct, crd *side
	pds               *pds
	etcd              *clientv3.Client
	// n objects are on each side.
	n int
}

// objectSize is what an object takes in a list of ours.
var objectSize int

func newEnv(b *testing.B) *env {
	b.Helper()
	const ourPath = "/apis/socialweb.computer/v1alpha1/infras"
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{plane.EtcdURL()}})
	require.NoError(b, err)
	b.Cleanup(func() { _ = etcd.Close() })
	e := &env{
		ours:   newSide(b, plane.Config(), ourPath),
		direct: newSide(b, plane.Replicas[0].Direct(plane.Config()), ourPath),
		crd:    newSide(b, plane.Config(), "/apis/"+crdGroup+"/"+crdVersion+"/infras"),
		pds:    newPDS(b), etcd: etcd,
	}
	plane.Available(b, true)
	e.createCRD(b)
	for _, s := range []*side{e.ours, e.crd} {
		_, err := s.list(b.Context(), "")
		require.NoError(b, err)
	}
	return e
}

func name(i int) string { return fmt.Sprintf("infra-%05d", i) }

// fill brings each side to n objects: ours as records, of which a start makes the
// objects, the CRD's as copies of them.
func (e *env) fill(b *testing.B, n int) {
	b.Helper()
	var names []string
	for i := e.n; i < n; i++ {
		names = append(names, name(i))
	}
	e.n = n
	replica := plane.Replicas[0]
	replica.Stop(b)
	plane.CreateRecords(b, harness.InfraCollection, names, record)
	// A start over an empty cache makes the views 25 at a time.
	_, err := e.etcd.Delete(b.Context(), "/registry/socialweb.computer/views/", clientv3.WithPrefix())
	require.NoError(b, err)
	replica.Start(b)
	plane.Available(b, true)
	e.settle(b)
	e.copy(b)
}

func record(rkey string) map[string]any {
	return map[string]any{
		"description": "of " + rkey, "createdAt": "2026-01-01T00:00:00Z",
		"contracts": []any{map[string]any{"name": "web", "state": "staged", "vmName": "web", "policy": "cheapest"}},
	}
}

// settle waits until every object is there and the publisher is done with it.
func (e *env) settle(b *testing.B) {
	b.Helper()
	harness.Eventually(b, func(ctx context.Context) error {
		items, err := e.items(ctx)
		if err != nil {
			return err
		}
		settled := 0
		for _, o := range items {
			if direction(o) == "InSync" {
				settled++
			}
		}
		if settled < e.n {
			return fmt.Errorf("%d of %d objects, %d of them in sync", len(items), e.n, settled)
		}
		return nil
	})
}

func direction(o map[string]any) any {
	status, _ := o["status"].(map[string]any)
	record, _ := status["record"].(map[string]any)
	return record["direction"]
}

func (e *env) items(ctx context.Context) ([]map[string]any, error) {
	data, err := e.ours.list(ctx, "?resourceVersion=0")
	if err != nil {
		return nil, err
	}
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	objectSize = len(data) / max(1, len(list.Items))
	return list.Items, nil
}

// copy writes our objects to etcd as kube-apiserver would write the custom resources.
func (e *env) copy(b *testing.B) {
	b.Helper()
	items, err := e.items(b.Context())
	require.NoError(b, err)
	// Each has a revision of its own, on which the watch cache relies.
	g, ctx := errgroup.WithContext(b.Context())
	g.SetLimit(8)
	for _, o := range items {
		g.Go(func() error {
			o["apiVersion"], o["kind"] = crdGroup+"/"+crdVersion, "Infra"
			meta := o["metadata"].(map[string]any)
			delete(meta, "resourceVersion")
			data, err := json.Marshal(o)
			if err != nil {
				return err
			}
			_, err = e.etcd.Put(ctx, fmt.Sprintf("/registry/%s/infras/%s", crdGroup, meta["name"]), string(data))
			return err
		})
	}
	require.NoError(b, g.Wait())
	data, err := e.crd.list(b.Context(), "")
	require.NoError(b, err)
	var list struct{ Items []struct{} }
	require.NoError(b, json.Unmarshal(data, &list))
	require.Len(b, list.Items, e.n)
}
