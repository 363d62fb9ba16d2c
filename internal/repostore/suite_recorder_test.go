package repostore

import (
	"context"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
)

// The suite says which lists must reach etcd by their keys, as they are under
// "/registry". Ours lie under "/registry/views": for the recorders, and only on
// their way through them, "/views" is left out.
const (
	suitePrefix = "/registry"
	suiteViews  = suitePrefix + "/views"
)

func withoutViews(key string) string {
	if rest, ok := strings.CutPrefix(key, suiteViews+"/"); ok {
		return suitePrefix + "/" + rest
	}
	return key
}

func withViews(key string) string {
	if rest, ok := strings.CutPrefix(key, suitePrefix+"/"); ok && key != "" {
		return suiteViews + "/" + rest
	}
	return key
}

// recordKeys puts the recorders of client between two renamings.
func recordKeys(client *kubernetes.Client) (*storagetesting.KubernetesRecorder, *storagetesting.KVRecorder) {
	lists := client.Kubernetes.(*storagetesting.KubernetesRecorder)
	lists.Interface = renamedLists{lists.Interface, withViews}
	client.Kubernetes = renamedLists{lists, withoutViews}
	reads := storagetesting.NewKVRecorder(renamedStreams{client.KV.(*storagetesting.KVRecorder).KV, withViews}, lists)
	client.KV = renamedStreams{reads, withoutViews}
	return lists, reads
}

type renamedLists struct {
	kubernetes.Interface
	rename func(string) string
}

func (r renamedLists) List(ctx context.Context, key string, opts kubernetes.ListOptions) (kubernetes.ListResponse, error) {
	opts.Continue = r.rename(opts.Continue)
	return r.Interface.List(ctx, r.rename(key), opts)
}

type renamedStreams struct {
	clientv3.KV
	rename func(string) string
}

func (r renamedStreams) GetStream(ctx context.Context, key string, opts ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	return r.KV.GetStream(ctx, r.rename(key), opts...)
}
