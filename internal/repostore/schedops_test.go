package repostore

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// schedOp is what one client of the API does, and what came of it.
type schedOp struct {
	id, kind string
	on       int // which replica
	withRV   bool

	began, ended   moment
	done           bool // false: its replica crashed under it
	err            error
	obj            *widget
	seen           map[string]*widget // of a list
	pre            int64              // the revision that it demanded
	public, labels bool               // what it writes
}

// moment is a point in both histories.
type moment struct{ commits, states int }

func (s *schedule) now() moment { return moment{s.repo.commits(), s.states()} }

func (o *schedOp) String() string {
	return fmt.Sprintf("%s %s pre=%d done=%v err=%v", o.id, o.kind, o.pre, o.done, o.err)
}

// setUp makes the object that most schedules begin with.
func (s *schedule) setUp(c *choices) {
	if c.pick(4) == 3 || s.plan.empty {
		return
	}
	o := &schedOp{id: "init", kind: "create", done: true, labels: true, public: true}
	s.ops = append(s.ops, o)
	r := s.replicas[0]
	o.obj, o.err = r.create(r.actx("init"), s.fresh(o))
	if o.err != nil {
		s.t.Fatal(o.err)
	}
	o.ended = s.now()
}

func (s *schedule) fresh(o *schedOp) *widget {
	w := aWidget("o", "base")
	w.UID = types.UID("uid-" + o.id)
	setLabel(w, o.id)
	setItem(w, "base")
	if s.plan.collection > 0 {
		w.Spec.Record.Repo = testRepo
	}
	if s.plan.finalizer {
		w.Finalizers = []string{s.mapper.finalizer}
	}
	return w
}

// draw draws the clients and starts them.
func (s *schedule) draw() {
	c := s.choices
	for i := range 1 + c.pick(s.plan.writers) {
		s.client1(&schedOp{id: fmt.Sprint("op", i), kind: s.plan.kinds[c.pick(len(s.plan.kinds))], on: c.pick(2), withRV: c.pick(2) == 1})
	}
	for i := range c.pick(s.plan.readers + 1) {
		s.client1(&schedOp{id: fmt.Sprint("read", i), kind: []string{"get", "list"}[c.pick(2)], on: c.pick(2)})
	}
	if n := c.pick(s.plan.edits + 1); n > 0 {
		s.spawn("edit", func() {
			for i := range n {
				s.edit(i)
				s.park(s.client, "edit", "next edit", nil)
			}
		})
	}
}

// spawn runs a client that a crash of a replica doesn't end.
func (s *schedule) spawn(id string, f func()) {
	s.running.Add(1)
	go func() {
		defer s.running.Add(-1)
		s.park(s.client, id, "start", nil)
		f()
	}()
}

func (s *schedule) client1(o *schedOp) {
	o.public = map[string]bool{"create": true, "both": true, "pub": true, "ssa": true}[o.kind]
	o.labels = map[string]bool{"create": true, "both": true, "priv": true, "same": true, "ssa": true, "status": true, "secret": true}[o.kind]
	s.ops = append(s.ops, o)
	s.spawn(o.id, func() {
		r := s.replicas[o.on]
		o.began = s.now()
		done := make(chan struct{})
		go func() { // ends by Goexit if its replica crashes
			defer close(done)
			s.act(r, o)
			if r.dead.Load() {
				runtime.Goexit()
			}
			o.done, o.ended = true, s.now()
		}()
		<-done
	})
}

// act is the client's one request.
func (s *schedule) act(r *schedReplica, o *schedOp) {
	ctx := r.actx(o.id)
	switch o.kind {
	case "create":
		o.obj, o.err = r.create(ctx, s.fresh(o))
	case "get":
		o.obj, o.err = r.get(ctx, "o")
	case "list":
		o.seen, o.err = r.list(ctx)
		o.obj = o.seen["o"]
	case "delete":
		o.err = s.remove(r, o)
	case "publish":
		if err := r.store.publishOne(ctx, s.ref("o")); err != nil {
			s.note("   %s: %v", o.id, err)
		}
	case "sweep":
		r.hub.sweep(ctx, atOnce)
	case "follow":
		o.obj, o.err = r.create(ctx, following("f", testRepo, recordURIOf("o")))
	case "unfollow":
		o.err = r.delete(ctx, "f")
	case "unbind", "bind", "bind to":
		o.obj, o.err = s.rebind(r, o)
	default:
		o.obj, o.err = s.change(r, o)
	}
}

func (s *schedule) change(r *schedReplica, o *schedOp) (*widget, error) {
	ctx, rv := r.actx(o.id), ""
	if o.withRV && o.kind != "ssa" {
		if obj, _ := r.shown("o"); obj != nil {
			rv, o.pre = obj.ResourceVersion, revision(obj)
		}
		s.park(r, o.id, "has read", nil)
	}
	change := func(w *widget) error {
		if o.kind == "finalize" {
			if w.DeletionTimestamp == nil {
				return apierrors.NewBadRequest("not terminating")
			}
			w.Finalizers = nil
			return nil
		}
		if o.public {
			setItem(w, o.id)
		}
		if o.kind == "same" {
			setItem(w, "same")
		}
		if o.kind == "secret" {
			w.Spec.Secret = o.id
		}
		if o.kind == "status" {
			w.Status.Phase = o.id
		}
		if o.labels {
			setLabel(w, o.id)
		}
		return nil
	}
	if o.kind == "ssa" {
		return s.apply(r, o, change)
	}
	obj, err := r.update(ctx, "o", rv, change)
	if o.kind == "finalize" && err == nil {
		err = r.delete(ctx, "o")
	}
	return obj, err
}

// apply is server-side apply: an update that creates.
func (s *schedule) apply(r *schedReplica, o *schedOp, change func(*widget) error) (*widget, error) {
	out := &widget{}
	err := r.store.GuaranteedUpdate(r.actx(o.id), r.key("o"), out, true, nil, func(in k8sruntime.Object, res storage.ResponseMeta) (k8sruntime.Object, *uint64, error) {
		is := in.(*widget).copy()
		if res.ResourceVersion == 0 {
			is = s.fresh(o)
		}
		was := is.copy()
		if err := change(is); err != nil {
			return nil, nil, err
		}
		if res.ResourceVersion != 0 && specChanged(was, is) {
			is.Generation++
		}
		return is, nil, nil
	}, nil)
	return out, err
}

var errHeld = errors.New("finalizers hold it")

// remove deletes as the registry does: an object with finalizers terminates.
func (s *schedule) remove(r *schedReplica, o *schedOp) error {
	ctx := r.actx(o.id)
	held := func(_ k8sruntime.Object) error { return nil }
	if s.plan.finalizer {
		held = func(obj k8sruntime.Object) error {
			if len(obj.(*widget).Finalizers) > 0 {
				return errHeld
			}
			return nil
		}
		_, err := r.update(ctx, "o", "", func(w *widget) error {
			if len(w.Finalizers) > 0 && w.DeletionTimestamp == nil {
				now := metav1.NewTime(r.hub.clock.Now())
				w.DeletionTimestamp = &now
				w.Generation++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return r.store.Delete(ctx, r.key("o"), &widget{}, nil, func(_ context.Context, obj k8sruntime.Object) error { return held(obj) }, nil, storage.DeleteOptions{})
}

// edit is one edit made elsewhere.
func (s *schedule) edit(i int) {
	key := recordKey("o")
	cur := s.repo.value(key)
	items := []string{"base"}
	if m, ok := cur["items"].(map[string]any); ok {
		items = nil
		for k := range m {
			items = append(items, k)
		}
	}
	var commit atproto.Commit
	all := s.plan.editKinds
	if all == nil {
		all = []string{"add", "delete", "base", "same", "other", "otherGone", "broken"}
	}
	what := all[i%len(all)]
	if s.plan.editKinds == nil {
		what = all[s.choices.pick(len(all))]
	}
	switch what {
	case "add":
		commit = s.repo.foreign(key, widgetRecord("base", append(items, fmt.Sprint("f", i))...))
	case "delete":
		commit = s.repo.foreign(key, nil)
	case "base":
		commit = s.repo.foreign(key, widgetRecord("base", "base"))
	case "same":
		commit = s.repo.foreign(key, widgetRecord("base", append(items, "same")...))
	case "other":
		commit = s.repo.foreign(recordKey("p"), widgetRecord(fmt.Sprint("p", i)))
	case "otherGone":
		commit = s.repo.foreign(recordKey("p"), nil)
	case "broken":
		commit = s.repo.foreign(key, map[string]any{"$type": widgetCollection, "text": int64(i)})
	}
	s.note("   [elsewhere: %s, rev %s]", what, commit.Rev)
}
