package repostore

import (
	"context"
	"math"

	"k8s.io/apimachinery/pkg/runtime"
)

// Room bounds what workspaces have. What a client creates is refused before it comes
// here; of the records that appear by themselves those without room get no object. They
// are remembered as those beyond a collection's bound are, cost no request, and get
// their objects as soon as there is room. Records that had an object before the views
// were lost get it again in any case.
type Room interface {
	// Free is for how many more objects there is room in the workspace. limited is
	// false where it has no bound.
	Free(ctx context.Context, workspace string) (n int, limited bool, err error)
	// Take takes room for an object of size bytes, as encoded. key is its storage key,
	// /<resource>/<workspace>/<name>. ok is false where there is none. Else done must be
	// called, with etcd's revision at which the object was made; 0: it wasn't.
	Take(ctx context.Context, key string, size int) (done func(revision int64), ok bool, err error)
}

// free is Room's, math.MaxInt where there is no bound.
func (h *Hub) free(ctx context.Context, workspace string) (n int, limited bool, err error) {
	if h.room == nil {
		return math.MaxInt, false, nil
	}
	n, limited, err = h.room.Free(ctx, workspace)
	if !limited {
		n = math.MaxInt
	}
	return n, limited, err
}

func (h *Hub) take(ctx context.Context, ref objectRef, size int) (done func(int64), ok bool, err error) {
	if h.room == nil {
		return func(int64) {}, true, nil
	}
	return h.room.Take(ctx, ref.key, size)
}

// takeRoom takes room for an object that is about to be made of a record, or fails with
// errFull.
func (s *Store) takeRoom(ctx context.Context, ref objectRef, obj runtime.Object) (done func(revision int64), err error) {
	if s.hub.room == nil {
		return func(int64) {}, nil
	}
	data, err := s.encode(obj)
	if err != nil {
		return nil, err
	}
	done, ok, err := s.hub.take(ctx, ref, len(data))
	if err == nil && !ok {
		err = errFull
	}
	return done, err
}

// beyondWorkspaceLocked is how many records want room that no collection counts.
func (m *mount) beyondWorkspaceLocked() (n int) {
	for nsid, b := range m.beyond {
		if m.boundLocked(nsid) == unbounded {
			n += b.len()
		}
	}
	return n
}
