package release

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// run is a release under way.
type run struct {
	Options

	waiting string // what was last said to be waited for

	mu   sync.Mutex      // guards Out, and what follows
	told map[string]bool // what was said already
}

// atOnce is how many objects are changed at once.
const atOnce = 8

// loop takes what is there one step on until nothing is, or the time is over.
func (r *run) loop(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	ticker := time.NewTicker(r.Poll)
	defer ticker.Stop()
	var left []string
	var last error
	for {
		has, err := r.Server.read(limit, r.Workspace)
		if err == nil {
			if has.count(Resources...) == 0 {
				fmt.Fprintf(r.Out, "workspace %s is released\n", r.Workspace)
				return nil
			}
			left = names(has)
			if back := r.cameBack(has); back != nil {
				return back
			}
			err = r.step(limit, has)
			r.wait(has)
		} else if limit.Err() == nil {
			r.say("workspace "+r.Workspace, "will be looked at again: "+err.Error())
		}
		if limit.Err() == nil {
			last = err
		}
		select {
		case <-limit.Done():
			return r.stopped(ctx, left, last)
		case <-ticker.C:
		}
	}
}

// stopped is the error of a release that has not come to its end.
func (r *run) stopped(ctx context.Context, left []string, last error) error {
	why := "not released within " + r.Timeout.String()
	if ctx.Err() != nil {
		why = "interrupted"
	}
	if len(left) > 0 {
		why += "; left: " + some(left)
	}
	if r.waiting != "" {
		why += "; " + r.waiting
	}
	err := errors.New("workspace " + r.Workspace + ": " + why + "; call it again to go on")
	return errors.Join(err, last)
}

// cameBack stops where the workspace is told to be there again. What only appeared is
// waited for: the controller hasn't looked at it yet.
func (r *run) cameBack(has objects) error {
	var back []string
	has.each(func(resource string, o *item) {
		if bound(o) == metav1.ConditionTrue && o.DeletionTimestamp == nil {
			back = append(back, title(resource, o))
		}
	}, telling...)
	if r.Force || len(back) == 0 {
		return nil
	}
	return fmt.Errorf("%w any more: %s. Stopped; what was deleted goes on to go", ErrNotGone, some(back))
}

// step does what is due. One that fails holds no other up, but for what comes after all.
func (r *run) step(ctx context.Context, has objects) error {
	var errs []error
	do := func(f func(context.Context, string, *item) error, of ...string) {
		errs = append(errs, r.all(ctx, has, f, of)...)
	}
	do(r.quiet, repos)
	switch {
	case len(errs) > 0:
	case has.count(collections, ephemeralCs) > 0:
		do(r.orphan, collections, ephemeralCs)
	case has.count(infras, ephemerals, contracts) > 0:
		do(r.deployment, infras, ephemerals)
		do(r.contract, contracts)
	default:
		do(r.last, repos)
	}
	return errors.Join(errs...)
}

// all does something with all objects of resources, some at once: each may wait for a PDS
// that is away.
func (r *run) all(ctx context.Context, has objects, f func(context.Context, string, *item) error, of []string) []error {
	var errs []error
	var group errgroup.Group
	group.SetLimit(atOnce)
	has.each(func(resource string, o *item) {
		group.Go(func() error {
			err := f(ctx, resource, o)
			if err == nil || ctx.Err() != nil {
				return nil
			}
			r.say(title(resource, o), "will be tried again: "+err.Error())
			r.mu.Lock()
			defer r.mu.Unlock()
			errs = append(errs, fmt.Errorf("%s: %w", title(resource, o), err))
			return nil
		})
	}, of...)
	_ = group.Wait() // its functions return nil
	return errs
}

// quiet lets no record of a repository appear by itself any more, lets what is there be
// deleted without its PDS, which may be gone for good, and notes that the workspace is
// being released.
func (r *run) quiet(ctx context.Context, resource string, o *item) error {
	if o.DeletionTimestamp != nil || o.Annotations[v1alpha1.AnnotationReleasing] != "" && !o.Spec.Default && o.Spec.StaleReads == v1alpha1.StaleReadsAllow {
		return nil
	}
	change := map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationReleasing: "true"}},
		"spec":     map[string]any{"default": false, "staleReads": v1alpha1.StaleReadsAllow},
	}
	if err := r.Server.patch(ctx, r.Workspace, resource, o, change); err != nil {
		return again(err)
	}
	r.say(title(resource, o), "its records appear by themselves no more, and its PDS may be away")
	return nil
}

// orphan deletes a collection. Its objects stay: deleting them is ours, for their records
// have to stay.
func (r *run) orphan(ctx context.Context, resource string, o *item) error {
	if o.DeletionTimestamp != nil {
		return nil
	}
	if err := r.Server.remove(ctx, r.Workspace, resource, o, metav1.DeletePropagationOrphan); err != nil {
		return again(err)
	}
	r.say(title(resource, o), "deleted; its objects stay at first")
	return nil
}

// deployment retains the record and deletes the object, provided that it still does.
func (r *run) deployment(ctx context.Context, resource string, o *item) error {
	if !r.Force && o.DeletionTimestamp == nil && bound(o) != metav1.ConditionFalse {
		return nil
	}
	if o.Spec.Record != nil && o.Spec.Record.DeletionPolicy != v1alpha1.DeletionRetain {
		change := map[string]any{"spec": map[string]any{"record": map[string]any{"deletionPolicy": v1alpha1.DeletionRetain}}}
		if err := r.Server.patch(ctx, r.Workspace, resource, o, change); err != nil {
			return again(err)
		}
	}
	if o.DeletionTimestamp != nil {
		return nil
	}
	if err := r.Server.remove(ctx, r.Workspace, resource, o, metav1.DeletePropagationBackground); err != nil {
		return again(err)
	}
	what := "deleted, and goes once its contracts are released"
	if at := uri(o); at != "" {
		what += "; its record " + at + " stays"
	}
	r.say(title(resource, o), what)
	return nil
}

// contract deletes one that no deployment owns. The controller releases it first.
func (r *run) contract(ctx context.Context, resource string, o *item) error {
	if o.DeletionTimestamp != nil || metav1.GetControllerOfNoCopy(o) != nil {
		return nil
	}
	if err := r.Server.remove(ctx, r.Workspace, resource, o, metav1.DeletePropagationBackground); err != nil {
		return again(err)
	}
	r.say(title(resource, o), "deleted, and goes once it is released")
	return nil
}

// last deletes an AtprotoRepo. The server lets it go only once nothing is bound to it.
func (r *run) last(ctx context.Context, resource string, o *item) error {
	if o.DeletionTimestamp != nil {
		return nil
	}
	if err := r.Server.remove(ctx, r.Workspace, resource, o, metav1.DeletePropagationBackground); err != nil {
		return again(err)
	}
	r.say(title(resource, o), "deleted")
	return nil
}

// again is nil where the next look tells: it is gone, or has changed.
func again(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// say something of an object, once.
func (r *run) say(what, text string) {
	line := what + ": " + text
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.told[line] {
		r.told[line] = true
		fmt.Fprintln(r.Out, line)
	}
}

// wait says what is waited for, where that has changed.
func (r *run) wait(has objects) {
	var on []string
	has.each(func(resource string, o *item) {
		switch {
		case resource == contracts:
			on = append(on, fmt.Sprintf("%s (%s)", title(resource, o), o.Status.Phase))
		case o.DeletionTimestamp == nil && !r.Force && bound(o) == "":
			on = append(on, title(resource, o)+" (the controller hasn't said that its workspace is gone)")
		}
	}, infras, ephemerals, contracts)
	text := ""
	if len(on) > 0 {
		text = "waits for " + some(on)
	}
	if text != r.waiting && text != "" {
		fmt.Fprintln(r.Out, text)
	}
	r.waiting = text
}

// names of all objects.
func names(has objects) []string {
	var out []string
	has.each(func(resource string, o *item) { out = append(out, title(resource, o)) }, Resources...)
	return slices.Clip(out)
}

func isLabel(s string) bool {
	return len(validation.IsDNS1123Label(s)) == 0 && !strings.Contains(s, ".")
}
