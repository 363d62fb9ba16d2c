package repostore

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/cacher/consistency"
	"k8s.io/client-go/tools/cache"
)

func init() {
	// The Cacher's own check, KUBE_WATCHCACHE_CONSISTENCY_CHECKER: a cache that
	// differs from etcd ends the tests. It runs every 5 minutes otherwise.
	consistency.PanicOnCacheInconsistency = true
	consistency.CheckPeriod = 10 * time.Millisecond
}

// withoutCheck is for cases that lead the check astray.
func withoutCheck(t *testing.T) {
	consistency.PanicOnCacheInconsistency = false
	t.Cleanup(func() { consistency.PanicOnCacheInconsistency = true })
}

// newDelegator puts the Cacher and its delegator in front of the Store, as
// Decorator does.
func (e *suiteEnv) newDelegator(t *testing.T) *cacher.CacheDelegator {
	c := &cacheClock{}
	t.Cleanup(c.end)
	config := e.cacherConfig()
	config.Clock, e.clock = c, c
	d, stop, err := behindCache(e.store.forREST(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	made := c.Now()
	c.made.Store(&made)
	await(t, "the cache to be ready", func() (bool, error) { return d.ReadinessCheck() == nil, nil })
	return d
}

func (e *suiteEnv) cacherConfig() cacher.Config {
	c := cacher.Config{
		Storage: cacheStorage{e.store.Interface, e.hub}, Versioner: storage.APIObjectVersioner{}, GroupResource: podResource,
		EventsHistoryWindow: cacher.DefaultEventFreshDuration, ResourcePrefix: podPrefix,
		KeyFunc:      func(o runtime.Object) (string, error) { return storage.NamespaceKeyFunc(podPrefix, o) },
		GetAttrsFunc: podAttrs, NewFunc: newPod, NewListFunc: newPodList, Codec: e.codec, Indexers: &cache.Indexers{},
	}
	if e.clusterScoped {
		c.KeyFunc = func(o runtime.Object) (string, error) { return storage.NoNamespaceKeyFunc(podPrefix, o) }
	}
	if e.indexed {
		c.IndexerFuncs = storage.IndexerFuncs{"spec.nodeName": func(o runtime.Object) string { return o.(*example.Pod).Spec.NodeName }}
		c.Indexers = &cache.Indexers{
			"f:spec.nodeName":      func(o any) ([]string, error) { return []string{o.(*example.Pod).Spec.NodeName}, nil },
			"f:metadata.namespace": func(o any) ([]string, error) { return []string{o.(*example.Pod).Namespace}, nil },
		}
	}
	return c
}

func podAttrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	pod := obj.(*example.Pod)
	return labels.Set(pod.Labels), fields.Set{
		"metadata.name": pod.Name, "metadata.namespace": pod.Namespace,
		"spec.nodeName": pod.Spec.NodeName, "spec.restartPolicy": string(pod.Spec.RestartPolicy), "status.phase": string(pod.Status.Phase),
	}, nil
}
