package repostore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"
)

// What a client of the API does, on one replica. The generation is counted here,
// as the registry's strategy does it above the storage.

// api is what the registry would talk to.
func (r *replica) api() storage.Interface {
	if r.front != nil {
		return r.front
	}
	return r.store
}

func (r *replica) ctx() context.Context { return WithWorkspace(r.t.Context(), r.ws) }

func (r *replica) create(ctx context.Context, w *widget) (*widget, error) {
	out := &widget{}
	err := r.api().Create(ctx, r.key(w.Name), w, out, 0)
	return out, err
}

// aWidget is a new object of the default repository.
func aWidget(name, text string) *widget {
	w := &widget{}
	w.Name, w.UID, w.Spec.Text = name, types.UID("uid-"+name), text
	return w
}

// update changes an object; rv "" is without a precondition.
func (r *replica) update(ctx context.Context, name, rv string, change func(*widget) error) (*widget, error) {
	out := &widget{}
	err := r.api().GuaranteedUpdate(ctx, r.key(name), out, false, nil, func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		was := in.(*widget)
		if rv != "" && was.ResourceVersion != rv {
			return nil, nil, apierrors.NewConflict(widgetResource, name, errors.New("the object has been modified"))
		}
		is := was.copy()
		if err := change(is); err != nil {
			return nil, nil, err
		}
		if specChanged(was, is) {
			is.Generation++
		}
		return is, nil, nil
	}, nil)
	return out, err
}

func specChanged(a, b *widget) bool {
	x, y := a.Spec, b.Spec
	return x.Text != y.Text || x.Secret != y.Secret || x.Record != y.Record || fmt.Sprint(x.Items) != fmt.Sprint(y.Items)
}

func (r *replica) label(ctx context.Context, name, label string) (*widget, error) {
	return r.update(ctx, name, "", func(w *widget) error { setLabel(w, label); return nil })
}

func setLabel(w *widget, label string) {
	labels := map[string]string{label: "v"}
	for k, v := range w.Labels {
		labels[k] = v
	}
	w.Labels = labels
}

func setItem(w *widget, item string) {
	items := map[string]string{item: "v"}
	for k, v := range w.Spec.Items {
		items[k] = v
	}
	w.Spec.Items = items
}

func (r *replica) delete(ctx context.Context, name string) error {
	return r.api().Delete(ctx, r.key(name), &widget{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
}

// deleteAt demands a resourceVersion.
func (r *replica) deleteAt(ctx context.Context, name, rv string) error {
	return r.api().Delete(ctx, r.key(name), &widget{}, &storage.Preconditions{ResourceVersion: &rv}, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
}

func (r *replica) get(ctx context.Context, name string) (*widget, error) {
	out := &widget{}
	err := r.api().Get(ctx, r.key(name), storage.GetOptions{}, out)
	return out, err
}

func (r *replica) list(ctx context.Context) (map[string]*widget, error) {
	out := &widgetList{}
	err := r.api().GetList(ctx, testPrefix+"/"+r.ws+"/", storage.ListOptions{Recursive: true, Predicate: storage.Everything}, out)
	byName := map[string]*widget{}
	for i := range out.Items {
		byName[out.Items[i].Name] = &out.Items[i]
	}
	return byName, err
}

// shown is the view as it lies in etcd, nil where there is none.
func (r *replica) shown(name string) (*widget, stamp) {
	r.t.Helper()
	sn, err := r.store.look(context.Background(), r.ref(name))
	if err != nil {
		r.t.Fatal(err)
	}
	if !sn.there() {
		return nil, sn.stamp
	}
	return sn.obj.(*widget), sn.stamp
}

// deliverAll hands over all kept events and ingests them, as the mount's
// goroutine does, until nothing is in line.
func (r *replica) deliverAll() {
	r.t.Helper()
	r.deliverAllAs(r.ctx())
}

func (r *replica) deliverAllAs(ctx context.Context) {
	r.t.Helper()
	for r.src.waiting() > 0 {
		r.src.deliver(0, false)
	}
	for i := 0; ; i++ {
		err := r.m().catchUp(ctx)
		if err == nil {
			return
		}
		if !errors.Is(err, ErrBusy) || i > 1000 {
			r.t.Fatalf("ingest on %s: %v", r.name, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// result of something that runs beside the test.
type result struct {
	obj *widget
	err error
}

// start runs an operation beside the test.
func start(f func() (*widget, error)) <-chan result {
	c := make(chan result, 1)
	go func() {
		obj, err := f()
		c <- result{obj, err}
	}()
	return c
}

// running fails the test if the operation has ended.
func running(r *replica, what string, c <-chan result) {
	r.t.Helper()
	select {
	case res := <-c:
		r.t.Fatalf("%s ended: %v", what, res.err)
	default:
	}
}

func revision(w *widget) int64 {
	n, err := strconv.ParseInt(w.ResourceVersion, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func hasLabels(w *widget, labels ...string) bool {
	return w != nil && !slices.ContainsFunc(labels, func(l string) bool { return w.Labels[l] == "" })
}
