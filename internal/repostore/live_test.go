package repostore

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/tools/cache"
)

// live is a replica as a server runs it: the hub's goroutines at work, the
// storage behind the Cacher by the very decorator that the server uses.
func (w *world) live(name string, change ...func(*HubConfig)) *replica {
	w.t.Helper()
	r := w.prepareLive(name, change...)
	r.hub.SetRepo(MountedRepo{Workspace: r.ws, Name: testRepo, Repo: r.repo, Source: r.src, Default: true, Access: AccessReadWrite})
	r.hub.SetMountsLoaded()
	r.run()
	return r
}

// prepareLive makes it without a repository, and doesn't run it.
func (w *world) prepareLive(name string, change ...func(*HubConfig)) *replica {
	w.t.Helper()
	c := w.hubConfig(name)
	c.PublishDelay = 10 * time.Millisecond
	for _, f := range change {
		f(&c)
	}
	r := &replica{world: w, name: name, hub: NewHub(c), src: newMemSource(w.repo)}
	r.decorate()
	return r
}

// decorate makes the replica's storage.
func (r *replica) decorate() {
	r.t.Helper()
	config := storagebackend.NewDefaultConfig("/ignored", widgetCodec)
	config.Transport.ServerList = []string{sharedEndpoint(r.t)}
	front, stop, err := r.hub.Decorator(r.mapper)(config.ForResource(widgetResource), testPrefix, nil, newWidget, newWidgetList,
		widgetAttrs, storage.IndexerFuncs{}, &cache.Indexers{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(stop)
	r.front, r.store = front, r.hub.allStores()[0]
	eventually(r.t, "the cache to be ready", func() bool { return front.ReadinessCheck() == nil })
}

// run runs the hub until the test ends.
func (r *replica) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.hub.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("hub: %v", err)
		}
	})
}

func widgetAttrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	w := obj.(*widget)
	return w.Labels, fields.Set{"metadata.name": w.Name}, nil
}

// eventually waits for something that no call waits for.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// cached reads from the cache: what a client gets with resourceVersion=0.
func (r *replica) cached() (map[string]*widget, error) {
	out := &widgetList{}
	err := r.api().GetList(r.ctx(), testPrefix+"/"+r.ws+"/", storage.ListOptions{ResourceVersion: "0", Recursive: true, Predicate: storage.Everything}, out)
	byName := map[string]*widget{}
	for i := range out.Items {
		byName[out.Items[i].Name] = &out.Items[i]
	}
	return byName, err
}
