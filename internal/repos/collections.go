package repos

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/fairly"
	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// collectionWorkers begin to reconcile collections.
const collectionWorkers = 4

// endEvery is how long ago a deletion must have been worked at to be looked for: by
// another leader, that is.
const endEvery = 2 * retryMax

// defaultMaxItems is the API's default of spec.maxItems.
const defaultMaxItems = 1000

// collectionState is what the manager knows of a collection beyond its object.
type collectionState struct {
	mark  repostore.MembersMark // of the members that the status shows
	ready readiness             // that it shows
	// workspace is what was known of the workspace then.
	workspace presence
	read      time.Time // when the members were read last
	wrote     time.Time // when the status was written last
}

// seatChanged is told that something changed at a seat.
func (m *Manager) seatChanged(s seat) {
	m.fillSeat(s)
	for _, c := range m.collections.at(s) {
		m.collectionQueue.Add(c.key())
	}
	if m.mirror.get(s.repo) != nil {
		m.queue.Add(s.repo) // its place, where it can't be mounted, depends on it
	}
}

// repoChanged queues what an AtprotoRepo is of interest to.
func (m *Manager) repoChanged(k key) {
	m.queue.Add(k)
	for _, kind := range collectionKinds {
		for _, c := range m.collections.at(seat{kind, k}) {
			m.collectionQueue.Add(c.key())
		}
	}
}

// fillSeat gives the hub the collection that has a seat. One without its finalizer
// waits: nobody would look after its children.
func (m *Manager) fillSeat(s seat) {
	c := m.collections.holder(s)
	if c == nil || !c.serves() {
		m.Hub.SetCollection(s.repo.workspace, s.repo.name, s.kind.nsid, nil)
		return
	}
	m.Hub.SetCollection(s.repo.workspace, s.repo.name, s.kind.nsid, &repostore.Collection{
		Owner: metav1.OwnerReference{
			APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: s.kind.kind, Name: c.Name, UID: c.UID,
			Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(false),
		},
		Label: v1alpha1.LabelCollection, Value: v1alpha1.LabelValue(c.Name),
		MaxItems: int(ptr.Deref(c.Spec.MaxItems, defaultMaxItems)),
	})
}

func (c *collection) serves() bool {
	return c.DeletionTimestamp == nil && slices.Contains(c.Finalizers, v1alpha1.FinalizerChildren)
}

// collected tells whether records of an AtprotoRepo appear by a collection.
func (m *Manager) collected(k key) bool {
	return slices.ContainsFunc(collectionKinds, func(kind *collectionKind) bool {
		c := m.collections.holder(seat{kind, k})
		return c != nil && c.serves()
	})
}

// collectionCrew reconciles collections.
func (m *Manager) collectionCrew(n int) *fairly.Crew[collectionKey] {
	return &fairly.Crew[collectionKey]{
		Queue: m.collectionQueue, Workspace: func(k collectionKey) string { return k.workspace }, Do: m.workCollection, Workers: n, Clock: m.Clock,
	}
}

// workCollection reconciles a collection of the queue.
func (m *Manager) workCollection(ctx context.Context, k collectionKey) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	logger := klog.FromContext(ctx).WithValues(k.kind.user, klog.KRef(k.workspace, k.name))
	again, err := m.reconcileCollection(klog.NewContext(ctx, logger), k)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			logger.Info("Collection not settled, will try again", "err", err)
		}
		if wait := atproto.RetryAfter(err); wait > 0 {
			m.collectionQueue.AddAfter(k, wait)
		} else {
			m.collectionQueue.AddRateLimited(k)
		}
	case again > 0:
		m.collectionQueue.Forget(k)
		m.collectionQueue.AddAfter(k, again)
	default:
		m.collectionQueue.Forget(k)
	}
}

// reconcileCollection brings the status of a collection, and its children where it
// is being deleted, to what they should be. The hub has it already: see fillSeat.
func (m *Manager) reconcileCollection(ctx context.Context, k collectionKey) (again time.Duration, err error) {
	c := m.collections.get(k)
	if c == nil {
		m.mu.Lock()
		delete(m.collectionStates, k)
		m.mu.Unlock()
		return 0, nil
	}
	if !m.Leading() {
		return 0, nil
	}
	client, err := m.For(k.workspace)
	if err != nil {
		return 0, err
	}
	switch {
	case c.DeletionTimestamp != nil:
		return m.terminateCollection(ctx, client, c)
	case !c.serves():
		changed := c.DeepCopy()
		changed.Finalizers = append(changed.Finalizers, v1alpha1.FinalizerChildren)
		return 0, c.kind.api(client).update(ctx, changed)
	}
	return m.writeCollectionStatus(ctx, client, c)
}

// outrunCollections are the collections whose status may show less than the hub
// knows. It costs no request.
func (m *Manager) outrunCollections() []collectionKey {
	var out []collectionKey
	for _, k := range m.collections.keys() {
		c := m.collections.get(k)
		if c == nil {
			continue
		}
		mark, _ := m.Hub.MembersMark(k.workspace, c.Spec.RepoRef.Name, k.kind.nsid)
		st, known := m.stateOf(k)
		switch {
		case known && c.DeletionTimestamp != nil:
			if m.Clock.Since(st.read) >= endEvery { // else it is at work
				out = append(out, k)
			}
		case !known, st.mark.Who != mark.Who, st.workspace != m.presenceOf(k.workspace), st.ready.coarse() != m.readinessOf(c).coarse(),
			st.mark != mark && m.Clock.Since(st.read) >= revEvery:
			out = append(out, k)
		}
	}
	return out
}

func (m *Manager) stateOf(k collectionKey) (collectionState, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	st, ok := m.collectionStates[k]
	return st, ok
}

func (m *Manager) keepState(k collectionKey, change func(*collectionState)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	st := m.collectionStates[k]
	change(&st)
	m.collectionStates[k] = st
}
