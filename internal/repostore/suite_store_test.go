package repostore

import (
	"context"
	"fmt"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
)

// suiteWorkspace is where a call belongs whose key names no namespace.
const suiteWorkspace = "test-ns"

// suiteStore is what the suite is given: the storage under test, with every call
// made in the workspace that its key names, as a request would be, so that
// barriers run. The workspace's repository is mounted when it is first written to: a
// mount compares, which moves etcd's revision, and the suite counts those after its
// writes. A workspace that nothing was written to has no repository yet.
type suiteStore struct {
	storage.Interface
	env *suiteEnv
}

var (
	_ storagetesting.InterfaceWithPrefixTransformer   = suiteStore{}
	_ storagetesting.InterfaceWithTransformerOverride = suiteStore{}
)

func (s suiteStore) in(ctx context.Context, key string) context.Context {
	return WithWorkspace(ctx, suiteWorkspaceOf(key))
}

func suiteWorkspaceOf(key string) string {
	// "/pods/ns/…" and a list's "/pods/ns": a Pod without a namespace is looked
	// for in a workspace that may not exist yet, which does no harm.
	ws, _, _ := strings.Cut(strings.TrimPrefix(key, podPrefix), "/")
	if !ValidWorkspace(ws) {
		ws = suiteWorkspace
	}
	return ws
}

// writing is in, with the workspace's repository mounted.
func (s suiteStore) writing(ctx context.Context, key string) (context.Context, error) {
	ws := suiteWorkspaceOf(key)
	if err := s.env.pds.mount(context.WithoutCancel(ctx), s.env.hub, ws); err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	return WithWorkspace(ctx, ws), nil
}

func (s suiteStore) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	wctx, err := s.writing(ctx, key)
	if err != nil {
		return err
	}
	if err := s.Interface.Create(wctx, key, obj, out, ttl); err != nil || !s.env.created {
		return err
	}
	rev, err := storage.APIObjectVersioner{}.ObjectResourceVersion(out)
	if err != nil {
		return err
	}
	// The watches of some cases compare what was there when they began, and take what
	// doesn't come at once for lost.
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, wait.ForeverTestTimeout, true, func(ctx context.Context) (bool, error) {
		shown := newPod()
		err := s.Get(ctx, key, storage.GetOptions{ResourceVersion: "0"}, shown)
		if storage.IsNotFound(err) {
			return false, nil
		}
		return err == nil && apiequality.Semantic.DeepEqual(shown, out) && s.env.watches.reached(key, rev), err
	})
}

func (s suiteStore) Delete(ctx context.Context, key string, out runtime.Object, pre *storage.Preconditions, validate storage.ValidateObjectFunc, cached runtime.Object, opts storage.DeleteOptions) error {
	ctx, err := s.writing(ctx, key)
	if err != nil {
		return err
	}
	return s.Interface.Delete(ctx, key, out, pre, validate, cached, opts)
}

func (s suiteStore) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	defer s.reads(ctx, opts.ResourceVersion)()
	return s.Interface.Get(s.in(ctx, key), key, opts, out)
}

func (s suiteStore) GetList(ctx context.Context, key string, opts storage.ListOptions, list runtime.Object) error {
	defer s.reads(ctx, opts.ResourceVersion)()
	return s.Interface.GetList(s.in(ctx, key), key, opts, list)
}

// reads tells the Cacher's clock, until done, of a read of a version that etcd hasn't.
func (s suiteStore) reads(ctx context.Context, version string) (done func()) {
	rev, err := storage.APIObjectVersioner{}.ParseResourceVersion(version)
	if s.env.delegator == nil || err != nil || rev == 0 {
		return func() {}
	}
	resp, err := s.env.hub.etcd.Get(ctx, version)
	if err != nil || rev <= uint64(resp.Header.Revision) {
		return func() {}
	}
	s.env.clock.future.Add(1)
	return func() { s.env.clock.future.Add(-1) }
}

func (s suiteStore) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool, pre *storage.Preconditions, update storage.UpdateFunc, cached runtime.Object) error {
	ctx, err := s.writing(ctx, key)
	if err != nil {
		return err
	}
	if parseRef(podPrefix, key).workspace == "" {
		update = withoutNamespace(update)
	}
	return s.Interface.GuaranteedUpdate(ctx, key, out, ignoreNotFound, pre, update, cached)
}

func (s suiteStore) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	w, err := s.Interface.Watch(s.in(ctx, key), key, opts)
	if err == nil && s.env.created {
		w = s.env.watches.of(key, w)
	}
	return w, err
}

func (s suiteStore) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	return s.Interface.GetCurrentResourceVersion(WithWorkspace(ctx, suiteWorkspace))
}

// UpdatePrefixTransformer implements InterfaceWithPrefixTransformer.
func (s suiteStore) UpdatePrefixTransformer(f storagetesting.PrefixTransformerModifier) func() {
	undo := []func(){s.env.stock.updatePrefix(f)}
	if !s.env.stockOnly {
		undo = append(undo, s.env.views.updatePrefix(f))
	}
	return all(undo)
}

// UpdateTransformer implements InterfaceWithTransformerOverride.
func (s suiteStore) UpdateTransformer(f storagetesting.TransformerModifier) func() {
	return all([]func(){s.env.stock.swap(f(s.env.stock.get())), s.env.views.swap(f(s.env.views.get()))})
}

// withoutNamespace mends an object that the suite puts under a key without a
// namespace: its namespace would name a repository of another workspace.
func withoutNamespace(update storage.UpdateFunc) storage.UpdateFunc {
	return func(in runtime.Object, res storage.ResponseMeta) (runtime.Object, *uint64, error) {
		obj, ttl, err := update(in, res)
		if pod, ok := obj.(*example.Pod); ok && err == nil {
			pod.Namespace = ""
		}
		return obj, ttl, err
	}
}

func all(fs []func()) func() {
	return func() {
		for _, f := range fs {
			f()
		}
	}
}
