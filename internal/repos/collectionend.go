package repos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// childrenAtOnce are deleted or orphaned at once.
const childrenAtOnce = 8

// terminateCollection lets a deleted collection go once its children are gone, or
// orphaned. A garbage collector does both too, where one runs: each step is done
// only where it is still to be done, and none relies on it.
func (m *Manager) terminateCollection(ctx context.Context, client versioned.Interface, c *collection) (time.Duration, error) {
	if !slices.Contains(c.Finalizers, v1alpha1.FinalizerChildren) {
		return 0, nil
	}
	m.keepState(c.key(), func(s *collectionState) { s.read = m.Clock.Now() })
	// No record appears by it here any more: fillSeat saw to that. Nor, from here on,
	// on any other replica, whatever that one has seen of the deletion.
	if err := m.Hub.CloseCollection(ctx, c.key().workspace, c.Name, c.UID); err != nil {
		return 0, err
	}
	// Remembered before anything is orphaned: a garbage collector that is done takes
	// its finalizer away, and the deletion would look like one of the children too.
	orphan := slices.Contains(c.Finalizers, metav1.FinalizerOrphanDependents) || c.orphaning()
	if orphan && !c.orphaning() {
		return 0, m.writeEnd(ctx, client, c, v1alpha1.ReasonOrphaning, "the children stay, without the collection")
	}
	o, err := asOfNow(ctx, client)
	if err != nil {
		return 0, err
	}
	all, err := c.kind.api(client).children(ctx, o)
	if err != nil {
		return 0, err
	}
	// What has the label alone was orphaned: here, or by a garbage collector that was done
	// before this deletion was seen.
	children := slices.DeleteFunc(all, func(o metav1.Object) bool { return !c.owns(o) && !c.labels(o) })
	if len(children) == 0 {
		return 0, m.release(ctx, client, c)
	}
	end := m.deleteChild
	if orphan || m.reappears(c) {
		end = m.orphanChild
	}
	if err := m.endAll(ctx, client, c, children, end); err != nil {
		return 0, errors.Join(err, m.writeEnd(ctx, client, c, c.endReason(orphan), err.Error()))
	}
	return useEvery, m.writeEnd(ctx, client, c, c.endReason(orphan), left(c, children))
}

func (c *collection) endReason(orphan bool) string {
	if orphan {
		return v1alpha1.ReasonOrphaning
	}
	return v1alpha1.ReasonDeleting
}

// orphaning tells whether it was seen already that the children are to stay.
func (c *collection) orphaning() bool {
	ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Reason == v1alpha1.ReasonOrphaning
}

func (c *collection) owns(o metav1.Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == c.UID })
}

func (c *collection) labels(o metav1.Object) bool {
	return o.GetLabels()[v1alpha1.LabelCollection] == v1alpha1.LabelValue(c.Name)
}

// reappears tells that the children can't be deleted, for their records stay and make
// them appear again: those of a default repository that is only read. They stay then,
// as they would be without the collection.
func (m *Manager) reappears(c *collection) bool {
	repo := m.mirror.get(c.seat().repo)
	return repo != nil && repo.Spec.Default && (repo.Spec.Access == v1alpha1.AccessRead || repo.Spec.CredentialsRef == nil)
}

// endAll does the same with all children.
func (m *Manager) endAll(ctx context.Context, client versioned.Interface, c *collection, children []metav1.Object, end func(context.Context, collectionAPI, *collection, metav1.Object) error) error {
	api := c.kind.api(client)
	var group errgroup.Group
	group.SetLimit(childrenAtOnce)
	var mu sync.Mutex
	var first error
	for _, o := range children {
		group.Go(func() error {
			err := end(ctx, api, c, o)
			if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
				return nil // gone, or changed: the next look tells
			}
			mu.Lock()
			defer mu.Unlock()
			if first == nil {
				first = fmt.Errorf("%s %q: %w", c.kind.childKind, o.GetName(), err)
			}
			return nil
		})
	}
	_ = group.Wait() // its functions return nil
	return first
}

func (m *Manager) deleteChild(ctx context.Context, api collectionAPI, c *collection, o metav1.Object) error {
	if !c.owns(o) {
		return m.orphanChild(ctx, api, c, o)
	}
	if o.GetDeletionTimestamp() != nil {
		return nil
	}
	return api.deleteChild(ctx, o.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: ptr.To(o.GetUID())}, PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
	})
}

// orphanChild takes from a child what makes it one.
func (m *Manager) orphanChild(ctx context.Context, api collectionAPI, c *collection, o metav1.Object) error {
	refs := slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), func(r metav1.OwnerReference) bool { return r.UID == c.UID })
	change := map[string]any{"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion(), "ownerReferences": refs}
	if c.labels(o) {
		change["labels"] = map[string]any{v1alpha1.LabelCollection: nil}
	}
	merge, err := json.Marshal(map[string]any{"metadata": change})
	if err != nil {
		return err
	}
	return api.patchChild(ctx, o.GetName(), merge)
}

// release lets the collection go. What asks a garbage collector to act goes with our
// finalizer: where none runs nobody else would take it away.
func (m *Manager) release(ctx context.Context, client versioned.Interface, c *collection) error {
	changed := c.DeepCopy()
	done := []string{v1alpha1.FinalizerChildren, metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool { return slices.Contains(done, f) })
	err := c.kind.api(client).update(ctx, changed)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// writeEnd tells in condition Ready what the deletion waits for.
func (m *Manager) writeEnd(ctx context.Context, client versioned.Interface, c *collection, reason, message string) error {
	status := c.Status.DeepCopy()
	status.ObservedGeneration = c.Generation
	set := conditions{list: &status.Conditions, generation: c.Generation, now: metav1.NewTime(m.Clock.Now())}
	set.set(v1alpha1.ConditionReady, no, reason, message)
	last, _ := m.stateOf(c.key())
	same := equalStatus(coarseCollection(&c.Status), coarseCollection(status))
	if equalStatus(&c.Status, status) || same && m.Clock.Since(last.wrote) < revEvery {
		return nil
	}
	changed := c.DeepCopy()
	changed.Status = *status
	err := c.kind.api(client).updateStatus(ctx, changed)
	if err == nil {
		m.keepState(c.key(), func(s *collectionState) { s.wrote = m.Clock.Now() })
	}
	return err
}

// left names the children that are not gone.
func left(c *collection, children []metav1.Object) string {
	names := make([]string, 0, usersShown)
	for _, o := range children[:min(len(children), usersShown)] {
		names = append(names, strings.ToLower(c.kind.childKind)+"/"+o.GetName())
	}
	text := "waits for " + strings.Join(names, ", ")
	if more := len(children) - usersShown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
