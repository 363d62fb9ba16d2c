package repostore

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Collection makes the records of one kind of a repository appear as objects, as
// all records of a workspace's default repository do. Its objects are its children:
// they have a label and a controller that name it.
type Collection struct {
	// Owner is the collection as the controller of its children.
	Owner metav1.OwnerReference
	// Label and Value are the label of its children.
	Label, Value string
	// MaxItems bounds how many records of the kind have an object here, whoever
	// bound them: at that number no further one appears. The default repository's
	// appear by themselves, and are not bounded.
	MaxItems int
}

func (c Collection) same(o Collection) bool {
	return c.Owner.UID == o.Owner.UID && c.Owner.Name == o.Owner.Name && c.Label == o.Label && c.Value == o.Value && c.MaxItems == o.MaxItems
}

// adopt makes obj a child.
func (c *Collection) adopt(obj metav1.Object) {
	obj.SetOwnerReferences([]metav1.OwnerReference{*c.Owner.DeepCopy()})
	if c.Label != "" {
		obj.SetLabels(map[string]string{c.Label: c.Value})
	}
}

// adopts tells whether the object of a record that appears is the collection's: one
// that was never seen, or that was its child before the views were lost.
func (c *Collection) adopts(id *identity) bool {
	return c != nil && (id == nil || id.Owner == c.Owner.UID)
}

// collectionPlace is what a collection is of.
type collectionPlace struct{ workspace, repo, nsid string }

// collected is a collection at work on a mount.
type collected struct {
	Collection
	// compared: the repository was compared since the collection is here, so that
	// all records which have room have appeared.
	compared bool
}

// SetCollection makes the records of one kind (nsid) of an AtprotoRepo, mounted or
// not yet, appear by a collection; nil: by none any more, and the objects that are
// there stay. Another collection than before begins with a comparison.
func (h *Hub) SetCollection(workspace, repo, nsid string, c *Collection) {
	h.collecting.Lock()
	defer h.collecting.Unlock()
	h.setCollectionLocked(collectionPlace{workspace, repo, nsid}, c)
}

func (h *Hub) setCollectionLocked(at collectionPlace, c *Collection) {
	h.mu.Lock()
	switch {
	case c == nil:
		delete(h.collections, at)
	case h.collections == nil:
		h.collections = map[collectionPlace]Collection{at: *c}
	default:
		h.collections[at] = *c
	}
	m := h.mounts[at.workspace][at.repo]
	h.mu.Unlock()
	if m != nil {
		m.collect(at.nsid, c)
	}
}

// collectedLocked are the collections that a mount begins with.
func (h *Hub) collectedLocked(workspace, repo string) map[string]*collected {
	out := map[string]*collected{}
	for at, c := range h.collections {
		if at.workspace == workspace && at.repo == repo {
			out[at.nsid] = &collected{Collection: c}
		}
	}
	return out
}

// collect sets or ends a collection of a mount that may be at work.
func (m *mount) collect(nsid string, c *Collection) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.collected[nsid]
	switch {
	case c == nil:
		delete(m.collected, nsid)
		if old != nil && !m.Default {
			m.forgetWaitingLocked(nsid)
			delete(m.beyond, nsid)
		}
		return
	case old == nil || old.Owner.UID != c.Owner.UID:
		m.collected[nsid] = &collected{Collection: *c}
		delete(m.beyond, nsid)
		m.progress.lost("a collection was mounted")
	case !old.same(*c):
		old.Collection = *c
		m.progress.wake() // there may be room now
	}
}

// forgetWaitingLocked forgets the records that nothing makes appear any more.
func (m *mount) forgetWaitingLocked(nsid string) {
	for key := range m.deferred {
		if key.Collection == nsid {
			delete(m.deferred, key)
			delete(m.conflicts, recordURI{m.Repo.DID(), key}.String())
		}
	}
}

// collection is the one that makes the records of a kind appear; nil: none does.
func (m *mount) collection(nsid string) *Collection {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.collected[nsid]
	if c == nil || m.Closing {
		return nil
	}
	out := c.Collection
	return &out
}

// appear tells whether records of a kind appear by themselves.
func (m *mount) appear(nsid string) bool { return m.Default || m.collection(nsid) != nil }

// collects tells whether any do by a collection.
func (m *mount) collects() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.collected) > 0 && !m.Closing
}

// A collection that is being deleted gets no new children: one that is made after
// its deletion has looked for them would name an owner that is gone. It goes as with
// an AtprotoRepo (closing.go): a key in etcd says so before the look, and every
// transaction that makes a child compares it.

// CloseCollection makes sure that from now on no replica makes a child of the
// collection. It is called again and again until the collection is gone.
func (h *Hub) CloseCollection(ctx context.Context, workspace, name string, uid types.UID) error {
	return h.closeKey(ctx, workspace, name, uid)
}

// notClosed is the compare of every transaction that makes a child of c.
func (h *Hub) notClosed(workspace string, c *Collection) clientv3.Cmp {
	return absent(h.keys.closing(workspace, c.Owner.Name, c.Owner.UID))
}

// closedCollection ends, on this replica too, a collection that another knows to be
// closing.
func (h *Hub) closedCollection(ctx context.Context, m *mount, nsid string, c *Collection) (bool, error) {
	closing, err := h.exists(ctx, h.keys.closing(m.Workspace, c.Owner.Name, c.Owner.UID))
	if err != nil || !closing {
		return false, err
	}
	h.collecting.Lock()
	defer h.collecting.Unlock()
	at := collectionPlace{m.Workspace, m.Name, nsid}
	h.mu.RLock()
	now, there := h.collections[at]
	h.mu.RUnlock()
	if there && now.Owner.UID == c.Owner.UID { // else another has taken its seat
		h.setCollectionLocked(at, nil)
	}
	if now := m.collection(nsid); now != nil && now.Owner.UID == c.Owner.UID {
		m.collect(nsid, nil) // m was replaced in the hub
	}
	return true, nil
}

// child is what the transaction that makes a child is about.
type child struct {
	of *Collection
	in *mount
	// room, where not 0, is etcd's revision at which the collection had room: no
	// other record of the kind may have got an object since.
	room int64
}

// compares of the transaction.
func (c *child) compares(s *Store) []clientv3.Cmp {
	cmps := []clientv3.Cmp{s.hub.notClosed(c.in.Workspace, c.of)}
	if c.room != 0 {
		ids := s.keys.uids(s.resource.Resource, c.in.Workspace, c.in.Repo.DID())
		cmps = append(cmps, clientv3.Compare(clientv3.CreateRevision(ids), "<", c.room+1).WithRange(clientv3.GetPrefixRangeEnd(ids)))
	}
	return cmps
}

// controllerUID is the uid of obj's controller.
func controllerUID(obj runtime.Object) types.UID {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	if ref := metav1.GetControllerOfNoCopy(m); ref != nil {
		return ref.UID
	}
	return ""
}

// errFull: there is no room for the object of another record.
var errFull = errors.New("there is no room")
