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
	// Free is for how many more objects, and for how many bytes of them, there is room
	// in the workspace: math.MaxInt and math.MaxInt64 where that has no bound. limited
	// is false where neither has.
	Free(ctx context.Context, workspace string) (objects int, bytes int64, limited bool, err error)
	// Take takes room for an object of size bytes, as encoded. key is its storage key,
	// /<resource>/<workspace>/<name>. ok is false where there is none. Else done must be
	// called, with etcd's revision at which the object was made; 0: it wasn't.
	Take(ctx context.Context, key string, size int) (done func(revision int64), ok bool, err error)
}

// space is what a workspace has room for.
type space struct {
	limited bool
	objects int
	bytes   int64
}

// leastBytes is less than any object takes: what one of unknown size counts.
const leastBytes = 256

// records is for how many records of unknown size there may be room.
func (s space) records() int { return int(min(int64(s.objects), s.bytes/leastBytes)) }

// take takes room for an object of size bytes; 0: unknown.
func (s *space) take(size int) bool {
	need := max(int64(size), leastBytes)
	if s.objects <= 0 || need > s.bytes {
		return false
	}
	s.objects--
	s.bytes -= need
	return true
}

// free is Room's.
func (h *Hub) free(ctx context.Context, workspace string) (s space, err error) {
	if h.room != nil {
		s.objects, s.bytes, s.limited, err = h.room.Free(ctx, workspace)
	}
	if !s.limited {
		s.objects, s.bytes = math.MaxInt, math.MaxInt64
	}
	return s, err
}

func (h *Hub) take(ctx context.Context, ref objectRef, size int) (done func(int64), ok bool, err error) {
	if h.room == nil {
		return func(int64) {}, true, nil
	}
	return h.room.Take(ctx, ref.key, size)
}

// takeRoom takes room for an object, of size bytes, that is about to be made of a
// record, or fails with errFull.
func (s *Store) takeRoom(ctx context.Context, ref objectRef, obj runtime.Object) (done func(revision int64), size int, err error) {
	if s.hub.room == nil {
		return func(int64) {}, 0, nil
	}
	data, err := s.encode(obj)
	if err != nil {
		return nil, 0, err
	}
	done, ok, err := s.hub.take(ctx, ref, len(data))
	if err == nil && !ok {
		err = errFull
	}
	return done, len(data), err
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
