package repos

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// mirror holds the AtprotoRepos of all workspaces, by workspace and name (an
// ordinary informer knows the name alone), and names each that changes.
type mirror struct {
	store  cache.Store
	change func(key)
	listed func([]key)
}

var _ cache.ReflectorStore = (*mirror)(nil)

func newMirror(change func(key), listed func([]key)) *mirror {
	return &mirror{
		store:  cache.NewStore(func(o any) (string, error) { return o.(interface{ cacheKey() string }).cacheKey(), nil }),
		change: change, listed: listed,
	}
}

// entry is an AtprotoRepo in the store.
type entry struct{ *v1alpha1.AtprotoRepo }

func (e entry) key() key         { return key{e.Annotations[repostore.ClusterAnnotation], e.Name} }
func (e entry) cacheKey() string { return e.key().cacheKey() }

func (k key) cacheKey() string { return k.workspace + "/" + k.name }

// follow lists and watches until ctx ends.
func (m *mirror) follow(ctx context.Context, client versioned.Interface) {
	repos := client.SocialwebV1alpha1().AtprotoRepos()
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return repos.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return repos.Watch(ctx, o)
		},
	}
	cache.NewReflectorWithOptions(inPages{lw}, &v1alpha1.AtprotoRepo{}, m, cache.ReflectorOptions{Name: "atprotorepos"}).RunWithContext(ctx)
}

// inPages reads what all workspaces have by a consistent list. A stream the reflector
// would collect by namespace and name: of all objects of one name, in whatever
// workspaces, one would be left.
type inPages struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is asked by package watchlist of client-go.
func (inPages) IsWatchListSemanticsUnSupported() bool { return true }

// ListWithContext implements cache.ListerWatcherWithContext.
func (l inPages) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if o.ResourceVersion == "0" {
		o.ResourceVersion = "" // all that exists, not what some cache has (I7)
	}
	return l.ListWatch.ListWithContext(ctx, o)
}

// get returns an AtprotoRepo, not to be changed; nil: there is none.
func (m *mirror) get(k key) *v1alpha1.AtprotoRepo {
	o, ok, err := m.store.GetByKey(k.cacheKey())
	if err != nil || !ok {
		return nil
	}
	return o.(entry).AtprotoRepo
}

// Add implements cache.ReflectorStore.
func (m *mirror) Add(o any) error { return m.put(o) }

// Update implements cache.ReflectorStore.
func (m *mirror) Update(o any) error { return m.put(o) }

func (m *mirror) put(o any) error {
	e := entry{o.(*v1alpha1.AtprotoRepo)}
	defer m.change(e.key())
	return m.store.Update(e)
}

// Delete implements cache.ReflectorStore.
func (m *mirror) Delete(o any) error {
	e := entry{o.(*v1alpha1.AtprotoRepo)}
	defer m.change(e.key())
	return m.store.Delete(e)
}

// Replace implements cache.ReflectorStore. What was there and is not any more
// changed too.
func (m *mirror) Replace(objs []any, rv string) error {
	changed := map[key]bool{}
	for _, o := range m.store.List() {
		changed[o.(entry).key()] = true
	}
	entries, keys := make([]any, 0, len(objs)), make([]key, 0, len(objs))
	for _, o := range objs {
		e := entry{o.(*v1alpha1.AtprotoRepo)}
		entries, keys = append(entries, e), append(keys, e.key())
		changed[e.key()] = true
	}
	if err := m.store.Replace(entries, rv); err != nil {
		return err
	}
	m.listed(keys)
	for k := range changed {
		m.change(k)
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (m *mirror) Resync() error { return nil }
