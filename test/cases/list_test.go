package cases

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/workqueue"

	"socialweb.computer/infra-apiserver/internal/testwait"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// An empty list has a resourceVersion that a watch can begin at
// (kyverno/kyverno#11574).
func TestEmptyListCanBeWatched(t *testing.T) {
	e := start(t)
	for _, resource := range []string{"infras", "ephemeralinfras"} {
		var list metav1.PartialObjectMetadataList
		e.do(t, "GET", base+"/"+resource, "").decode(t, &list)
		if n, err := strconv.ParseUint(list.ResourceVersion, 10, 64); err != nil || n == 0 || len(list.Items) != 0 {
			t.Errorf("%s: resourceVersion %q, %d items", resource, list.ResourceVersion, len(list.Items))
		}
	}
	list, err := e.infras.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := e.infras.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if _, err := e.infras.Create(t.Context(), infra("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if ev := <-w.ResultChan(); ev.Type != watch.Added || ev.Object.(*v1alpha1.Infra).Name != "a" {
		t.Errorf("event %v", ev)
	}
}

// A list has every object, whole (kagent-dev/tools#69), page by page too: each
// once, at one resourceVersion, whatever is written meanwhile
// (karmada-io/karmada#3402, argoproj/argo-cd#6915).
func TestListsAndPages(t *testing.T) {
	e := start(t)
	n := manyObjects
	all := names("p-%04d", n)
	populate(t, e, all, func(i int) bool { return i%2 == 0 })
	list := e.allSettled(t)
	t.Run("whole", func(t *testing.T) {
		if len(list) != n {
			t.Fatalf("%d of %d objects", len(list), n)
		}
		workqueue.ParallelizeUntil(t.Context(), 16, n, func(i int) {
			from := list[i].ResourceVersion // the replica's cache, once it has it; some straight from the repository
			if i%20 == 0 {
				from = ""
			}
			one, err := e.infras.Get(t.Context(), list[i].Name, metav1.GetOptions{ResourceVersion: from})
			if err != nil {
				t.Error(err)
				return
			}
			one.TypeMeta = metav1.TypeMeta{}
			if !reflect.DeepEqual(*one, list[i]) {
				t.Errorf("list %+v\nget %+v", list[i], *one)
			}
		})
	})
	for _, selector := range []string{"", "half=yes"} {
		t.Run("pages "+selector, func(t *testing.T) { testPages(t, e, selector, n) })
	}
	a := e.do(t, "GET", base+"/infras?limit=5&continue="+url.QueryEscape("garbage"), "")
	if a.code != 400 {
		t.Errorf("a garbage continue token: %d %s", a.code, a.body)
	}
}

// manyObjects are enough for several pages, and populate makes them with half=yes
// where it is said. A control plane has its own.
var (
	manyObjects = 250
	populate    = create
)

func create(t *testing.T, e *env, all []string, half func(int) bool) {
	t.Helper()
	workqueue.ParallelizeUntil(t.Context(), 16, len(all), func(i int) {
		o := infra(all[i])
		if half(i) {
			o.Labels = map[string]string{"half": "yes"}
		}
		if _, err := e.infras.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Errorf("create %s: %v", all[i], err)
		}
	})
}

// allSettled lists once nothing is left to write to any record.
func (e *env) allSettled(t *testing.T) (all []v1alpha1.Infra) {
	t.Helper()
	testwait.Until(t, "everything in sync", func() error {
		list, err := e.infras.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all = list.Items
		if i := slices.IndexFunc(all, func(o v1alpha1.Infra) bool {
			return o.Status.Record == nil || o.Status.Record.Direction != v1alpha1.DirectionInSync
		}); i >= 0 {
			return fmt.Errorf("%s: %+v", all[i].Name, all[i].Status)
		}
		return nil
	})
	return all
}

func testPages(t *testing.T, e *env, selector string, n int) {
	want := n
	if selector != "" {
		want = (n + 1) / 2
	}
	seen := map[string]int{}
	var rv, next string
	var writer sync.WaitGroup
	for page := 0; ; page++ {
		list, err := e.infras.List(t.Context(), metav1.ListOptions{Limit: 100, Continue: next, LabelSelector: selector})
		if err != nil {
			t.Fatal(err)
		}
		if page == 0 {
			rv = list.ResourceVersion
			writer.Go(func() { disturb(t, e) })
		}
		if list.ResourceVersion != rv {
			t.Errorf("page %d is at resourceVersion %s, the first at %s", page, list.ResourceVersion, rv)
		}
		for i := range list.Items {
			seen[list.Items[i].Name]++
		}
		if selector != "" && list.RemainingItemCount != nil {
			t.Errorf("page %d counts what remains, with a selector", page)
		}
		if selector == "" && list.Continue != "" && (list.RemainingItemCount == nil || int(*list.RemainingItemCount) != n-len(seen)) {
			t.Errorf("page %d: remainingItemCount %v, %d seen", page, list.RemainingItemCount, len(seen))
		}
		if next = list.Continue; next == "" {
			break
		}
	}
	writer.Wait()
	if len(seen) != want {
		t.Errorf("%d objects, want %d", len(seen), want)
	}
	for name, times := range seen {
		if times != 1 {
			t.Errorf("%s is there %d times", name, times)
		}
	}
}

// disturb writes while pages are read.
func disturb(t *testing.T, e *env) {
	for _, name := range names("zz-%d", 10) {
		if _, err := e.infras.Create(t.Context(), infra(name), metav1.CreateOptions{}); err != nil {
			t.Errorf("create %s: %v", name, err)
		}
	}
	for _, name := range names("zz-%d", 10) {
		if err := e.infras.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("delete %s: %v", name, err)
		}
	}
}

// 200 creations of one generateName at once get 200 names.
func TestGenerateName(t *testing.T) {
	e := start(t)
	const n = 200
	var mu sync.Mutex
	got := map[string]bool{}
	workqueue.ParallelizeUntil(t.Context(), 20, n, func(int) {
		o := infra("")
		o.GenerateName = "n-"
		made, err := e.infras.Create(t.Context(), o, metav1.CreateOptions{})
		if err != nil {
			t.Errorf("create: %v", err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		got[made.Name] = true
	})
	if len(got) != n {
		t.Errorf("%d names", len(got))
	}
}
