package repostore

import (
	"context"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
)

func setGate(t testing.TB, gate featuregate.Feature, on bool) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, gate, on)
}

// stored checks what lies in etcd: the stamp, and an object without a version.
func (e *suiteEnv) stored(ctx context.Context, t *testing.T, key string) {
	resp, err := e.client.KV.Get(ctx, suiteViews+key)
	if err != nil || len(resp.Kvs) == 0 {
		t.Fatalf("nothing at %s (%v)", key, err)
	}
	st, object, err := openStamp(resp.Kvs[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	if !st.bound() || st.CID == "" || st.Rev == "" {
		t.Errorf("%s is not bound to a record: %+v", key, st)
	}
	obj, err := runtime.Decode(e.codec, object[len(valuePrefix):])
	if err != nil {
		t.Fatal(err)
	}
	if pod := obj.(*example.Pod); pod.ResourceVersion != "" || pod.SelfLink != "" { //nolint:staticcheck // deprecated, and not to be stored
		t.Errorf("the stored object has resourceVersion %q and selfLink %q", pod.ResourceVersion, pod.SelfLink) //nolint:staticcheck // the same
	}
}

// compact compacts etcd, and waits until the storage has noticed.
func (e *suiteEnv) compact(ctx context.Context, t *testing.T, resourceVersion string) {
	rv, err := storage.APIObjectVersioner{}.ParseResourceVersion(resourceVersion)
	if err != nil {
		t.Fatal(err)
	}
	version, _, _, err := etcd3.Compact(ctx, e.client.Client, 0, int64(rv))
	if err != nil {
		_, _, _, err = etcd3.Compact(ctx, e.client.Client, version, int64(rv))
	}
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the store to notice the compaction", func() (bool, error) { return e.store.CompactRevision() == int64(rv), nil })
	if e.delegator != nil {
		await(t, "the cache to notice the compaction", func() (bool, error) { return e.delegator.CompactRevision() >= int64(rv), nil })
	}
}

// increaseRV moves etcd's revision.
func (e *suiteEnv) increaseRV(ctx context.Context, t *testing.T) int64 {
	resp, err := e.client.KV.Put(ctx, "increaseRV", "ok")
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Revision
}

// calls checks what a list costs: objects read and requests to etcd, of the stock
// store alone.
func (e *suiteEnv) calls(t *testing.T, pageSize, processed uint64) {
	if reads := e.stock.reads(); reads != processed {
		t.Errorf("%d objects read, want %d", reads, processed)
	}
	requests := uint64(1)
	if pageSize != 0 {
		// A page that was not filled is followed by one of twice its size.
		const maxLimit = 10000
		limit := pageSize
		for sum := uint64(1); sum < processed; requests++ {
			limit = min(2*limit, maxLimit)
			sum += limit
		}
	}
	if got := e.kv.GetReadsAndReset() + e.kv.GetStreamReadsAndReset(); got != requests {
		t.Errorf("%d requests to etcd, want %d", got, requests)
	}
}

// noCalls stands where the cache answers.
func noCalls(*testing.T, uint64, uint64) {}

// keys of all objects, for the estimate of their sizes.
func (e *suiteEnv) keys(ctx context.Context) ([]string, error) {
	resp, err := e.client.KV.Get(ctx, suiteViews+podPrefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(resp.Kvs))
	for _, kv := range resp.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys, nil
}

// corruptError is what the stock store reports for an object that can't be
// transformed; its type is not exported.
func corruptError(t *testing.T) error {
	fail := &atomic.Bool{}
	fail.Store(true)
	e := newSwitchTransformer(fail)
	_, _, err := etcd3.WithCorruptObjErrorHandlingTransformer(e).TransformFromStorage(t.Context(), nil, nil)
	if err == nil {
		t.Fatal("no error")
	}
	return err
}

// allowUnsafeDeletion allows the deletion of corrupt objects.
func allowUnsafeDeletion(t *testing.T) {
	setGate(t, features.AllowUnsafeMalformedObjectDeletion, true)
	etcd3.TestOnlySetFatalOnDecodeError(t, false)
}

// corruptLists is for the cases of lists over corrupt objects. Their keys are
// read through etcd's namespace client, which knows no streams.
func corruptLists(t *testing.T) {
	allowUnsafeDeletion(t)
	setGate(t, features.EtcdRangeStream, false)
}

var (
	_ storagetesting.KeyValidation   = (*suiteEnv)(nil).stored
	_ storagetesting.Compaction      = (*suiteEnv)(nil).compact
	_ storagetesting.IncreaseRVFunc  = (*suiteEnv)(nil).increaseRV
	_ storagetesting.CallsValidation = (*suiteEnv)(nil).calls
)
