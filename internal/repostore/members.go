package repostore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// Members are the records of a collection, as far as they are known here.
type Members struct {
	// Items are those that have an object, whoever bound them, and those whose name
	// is another object's, in the order of their URIs.
	Items []Member
	// Beyond is how many have no object for want of room.
	Beyond int
	// WorkspaceFull tells that the room which they want is the workspace's.
	WorkspaceFull bool
	// Compared tells whether all records that have room have appeared: the
	// repository was compared since the collection was set.
	Compared bool
}

// Member is one record of a collection.
type Member struct {
	// URI of the record.
	URI string
	// Name and UID of its object.
	Name string
	UID  types.UID
	// CID of the record that the object reflects; "": it is gone, and finalizers keep
	// the object.
	CID string
	// Child tells that the object is the collection's, and not bound by itself.
	Child bool
	// Conflict tells that it has no object: Name is another's.
	Conflict bool
}

// MembersMark changes when Members may: Who when they are others, What when they
// are others or their content is.
type MembersMark struct{ Who, What string }

// MembersMark asks neither etcd nor the PDS. ok is false where the repository is not
// mounted or has no such collection.
func (h *Hub) MembersMark(workspace, repo, nsid string) (mark MembersMark, ok bool) {
	m := h.mountNamed(workspace, repo)
	if m == nil {
		return MembersMark{}, false
	}
	known := m.progress.knownRev()
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.collected[nsid]
	if c == nil {
		return MembersMark{}, false
	}
	mark.Who = fmt.Sprint(m.touched.Load(), " ", len(m.conflicts), " ", m.beyond[nsid].len(), " ", c.compared, " ", known == "")
	mark.What = mark.Who + " " + known
	return mark, true
}

// Members reads the records of a collection. ok is as with MembersMark.
func (h *Hub) Members(ctx context.Context, workspace, repo, nsid string) (out Members, ok bool, err error) {
	m, s := h.mountNamed(workspace, repo), h.storeFor(nsid)
	if m == nil || s == nil {
		return Members{}, false, nil
	}
	m.mu.Lock()
	c := m.collected[nsid]
	if c == nil {
		m.mu.Unlock()
		return Members{}, false, nil
	}
	owner := c.Owner.UID
	out.Compared = c.compared
	wanting := m.beyond[nsid].next(beyondBound)
	out.Beyond = m.beyond[nsid].len() - len(wanting)
	for uri, name := range m.conflicts {
		if u, ok := parseURI(uri); ok && u.Collection == nsid {
			out.Items = append(out.Items, Member{URI: uri, Name: name, Conflict: true})
		}
	}
	m.mu.Unlock()
	ids, err := s.identities(ctx, m)
	if err != nil {
		return Members{}, false, err
	}
	for _, key := range wanting {
		if ids[key.RKey] == nil { // else it was bound by name since
			out.Beyond++
		}
	}
	if out.Beyond > 0 {
		free, err := h.free(ctx, workspace)
		if err != nil {
			return Members{}, false, err
		}
		out.WorkspaceFull = free.limited && m.tooFew(nsid, free)
	}
	out.Items = slices.DeleteFunc(out.Items, func(i Member) bool {
		u, _ := parseURI(i.URI)
		return ids[u.RKey] != nil
	})
	served, err := s.served(ctx, m, ids, owner)
	if err != nil {
		return Members{}, false, err
	}
	out.Items = append(out.Items, served...)
	slices.SortFunc(out.Items, func(a, b Member) int { return strings.Compare(a.URI, b.URI) })
	return out, true, nil
}

// stampsAtOnce is how many views a transaction reads; etcd takes 128.
const stampsAtOnce = 100

// served are the members that have an object, by its identity.
func (s *Store) served(ctx context.Context, m *mount, ids map[string]*identity, owner types.UID) ([]Member, error) {
	members := make([]Member, 0, len(ids))
	for rkey, id := range ids {
		uri := recordURI{m.Repo.DID(), atproto.Key{Collection: s.mapper.Collection(), RKey: rkey}}
		members = append(members, Member{URI: uri.String(), Name: id.Name, UID: id.UID, Child: id.Owner == owner})
	}
	var out []Member
	for some := range slices.Chunk(members, stampsAtOnce) {
		ops := make([]clientv3.Op, 0, len(some))
		for _, i := range some {
			ops = append(ops, clientv3.OpGet(s.keys.view(makeRef(s.resourcePrefix, m.Workspace, i.Name))))
		}
		resp, err := s.txn(ctx, "members", nil, ops)
		if err != nil {
			return nil, err
		}
		for n, i := range some {
			kvs := found(resp, n)
			if len(kvs) != 1 {
				continue // its view was lost, and will be there again
			}
			if st, _, err := openStamp(kvs[0].Value); err == nil && st.URI == i.URI {
				i.CID = st.CID
				out = append(out, i)
			}
		}
	}
	return out, nil
}

// followIdentities notes, for each mount, that records got an object or lost it,
// whichever replica did it.
func (h *Hub) followIdentities(ctx context.Context) {
	prefix := h.keys.prefix + "/uids/"
	for ctx.Err() == nil {
		wctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
		for resp := range h.etcd.Watch(wctx, prefix, clientv3.WithPrefix()) {
			if resp.Err() != nil {
				break
			}
			for _, e := range resp.Events {
				// <resource>/<workspace>/<did>/<rkey>
				if parts := strings.Split(strings.TrimPrefix(string(e.Kv.Key), prefix), "/"); len(parts) == 4 {
					h.touch(parts[1], parts[2])
				}
			}
		}
		cancel()
		for _, m := range h.allMounts() {
			m.touched.Add(1) // something may have been missed
		}
		select {
		case <-ctx.Done():
		case <-h.clock.After(time.Second):
		}
	}
}

func (h *Hub) touch(workspace, did string) {
	for _, m := range h.mountsIn(workspace) {
		if m.Repo.DID() == did {
			m.touched.Add(1)
		}
	}
}
