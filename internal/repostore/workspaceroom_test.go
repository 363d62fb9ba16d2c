package repostore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	plaintext "k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// testRoom lets a workspace have so many objects, and objects of so many bytes.
type testRoom struct {
	*world
	mu     sync.Mutex
	most   int
	bytes  int // of one object; 0: any
	err    error
	taking map[string]bool
}

func (w *world) room(most int) (*testRoom, func(*HubConfig)) {
	r := &testRoom{world: w, most: most, taking: map[string]bool{}}
	return r, func(c *HubConfig) { c.Room = r }
}

func (r *testRoom) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

func (r *testRoom) usedLocked(ctx context.Context) (int, error) {
	resp, err := r.etcd.Get(context.WithoutCancel(ctx), r.prefix+"/views"+r.key(""), clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return 0, err
	}
	n := len(r.taking)
	for _, kv := range resp.Kvs {
		if !r.taking[string(kv.Key)[len(r.prefix+"/views"):]] {
			n++
		}
	}
	return n, r.err
}

// Free implements Room.
func (r *testRoom) Free(ctx context.Context, ws string) (int, int64, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.usedLocked(ctx)
	bytes := int64(math.MaxInt64)
	if r.bytes > 0 {
		bytes = int64(r.bytes)
	}
	return max(0, r.most-n), bytes, ws == r.ws, err
}

// Take implements Room.
func (r *testRoom) Take(ctx context.Context, key string, size int) (func(int64), bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, err := r.usedLocked(ctx); err != nil || n >= r.most || r.bytes > 0 && size > r.bytes {
		return nil, false, err
	}
	r.taking[key] = true
	return func(revision int64) {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.taking, key)
		if resp, err := r.etcd.Get(context.WithoutCancel(ctx), r.prefix+"/views"+key); err != nil || (revision != 0) != (len(resp.Kvs) == 1 && resp.Kvs[0].ModRevision == revision) {
			r.t.Errorf("%s was told to be made at %d: %v %v", key, revision, resp, err)
		}
	}, true, nil
}

// names lists, with a barrier.
func (r *replica) names() (out []string) {
	r.t.Helper()
	all, err := r.list(r.ctx())
	if err != nil {
		r.t.Fatal(err)
	}
	for name := range all {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// holds checks what is served, and how many records want room.
func (r *replica) holds(when string, beyond int, names ...string) {
	r.t.Helper()
	if got := r.names(); !slices.Equal(got, names) {
		r.t.Errorf("%s: %q, want %q", when, got, names)
	}
	if st := r.m().state(); st.Beyond != beyond {
		r.t.Errorf("%s: %d want room, want %d", when, st.Beyond, beyond)
	}
}

func (r *replica) put(names ...string) {
	for _, name := range names {
		r.repo.foreign(recordKey(name), widgetRecord(name))
	}
}

// In a workspace without room records get no object, by whichever way they come, cost
// no request, and hold up no read; they get it as soon as there is room.
func TestWorkspaceRoom(t *testing.T) {
	w := newWorld(t)
	room, with := w.room(2)
	r := w.replica("A", with)
	r.put("a", "c", "d")
	r.holds("compared", 1, "a", "c")
	r.put("b")
	r.holds("a record came", 2, "a", "c")
	w.repo.resetCounts()
	for range 3 {
		if err := r.m().catchUp(r.ctx()); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.repo.count("prove"); n != 0 {
		t.Errorf("%d requests for records that want room", n)
	}
	if _, err := r.update(r.ctx(), "a", "", public("written", "l")); err != nil {
		t.Errorf("a write of what is there: %v", err)
	}
	w.repo.foreign(recordKey("d"), nil)
	r.holds("one of those that want room is gone", 1, "a", "c")
	if err := r.delete(r.ctx(), "a"); err != nil {
		t.Fatal(err)
	}
	r.deliverAll()
	r.holds("room", 0, "b", "c")
	r.put("e", "f")
	r.holds("full again", 2, "b", "c")
	r.m().progress.lost("a test")
	r.holds("compared again", 2, "b", "c")
	// A record whose creation is under way has its room.
	obj, err := r.create(r.ctx(), aWidget("g", "by the API"))
	if err != nil {
		t.Fatalf("the storage itself refuses nothing: %v", err)
	}
	if obj.Name != "g" {
		t.Errorf("%+v", obj)
	}
	room.set(func() { room.most = 4 })
	r.deliverAll()
	r.holds("raised", 1, "b", "c", "e", "g")
	next := w.replica("B", with)
	next.holds("the next start", 1, "b", "c", "e", "g")
	// Nobody knows how much there is: nothing is made, and nothing is lost.
	room.set(func() { room.err = errors.New("not counted yet") })
	if err := r.m().catchUp(r.ctx()); err == nil {
		t.Error("went on without knowing")
	}
	room.set(func() { room.err, room.most = nil, 5 })
	r.deliverAll()
	r.holds("known again", 0, "b", "c", "e", "f", "g")
}

// A record that is too large for what is left is as one for which there is none.
func TestWorkspaceRoomOfBytes(t *testing.T) {
	w := newWorld(t)
	room, with := w.room(10)
	room.bytes = 1
	r := w.replica("A", with)
	r.put("a")
	r.holds("too large", 1)
	room.set(func() { room.bytes = 0 })
	r.deliverAll()
	r.holds("room", 0, "a")
}

// One that is too large keeps none waiting that is not, and is asked for no more until
// there is room for it.
func TestWorkspaceRoomForSmallerOnes(t *testing.T) {
	w := newWorld(t)
	room, with := w.room(10)
	room.bytes = 1
	r := w.replica("A", with)
	for name, text := range map[string]string{"a": strings.Repeat("large ", 1000), "b": "small", "c": strings.Repeat("large ", 1000)} {
		w.repo.foreign(recordKey(name), widgetRecord(text))
	}
	r.holds("full", 3)
	room.set(func() { room.bytes = 3000 })
	r.deliverAll()
	r.holds("room for a small one", 2, "b")
	w.repo.resetCounts()
	r.deliverAll()
	r.deliverAll()
	if n := w.repo.count("prove"); n != 0 {
		t.Errorf("%d requests for records that are known to be too large", n)
	}
	w.repo.foreign(recordKey("a"), widgetRecord("small too"))
	r.deliverAll()
	r.holds("one became small", 1, "a", "b")
	room.set(func() { room.bytes = 10000 })
	r.deliverAll()
	r.holds("room for a large one", 0, "a", "b", "c")
}

var errUnreachable = errors.New("etcd isn't to be reached")

// unreachable is an etcd that nothing can be read from.
type unreachable struct{ clientv3.KV }

func (unreachable) Get(context.Context, string, ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return nil, errUnreachable
}

// Records that want room stay known where it can't be found out how much there is.
func TestRoomOfOneKindFails(t *testing.T) {
	c := collecting(newWorld(t), "A", newMemRepo(sideDID), AccessReadWrite)
	newStore(c.hub, storeConfig{raw: c.store.Interface, mapper: podMapper{}, resource: podResource, resourcePrefix: podPrefix, codec: widgetCodec, transformer: plaintext.NewEncryptCheckTransformer()})
	m := c.s()
	m.collected[widgetCollection] = &collected{Collection: *aCollection("col", 5)}
	widget, pod := recordKey("a"), atproto.Key{Collection: podCollection, RKey: "p"}
	m.beyondLocked(widgetCollection).add(widget, 0)
	m.beyondLocked(podCollection).add(pod, 0)
	gone := clientv3.NewCtxClient(t.Context())
	gone.KV, gone.Lease, gone.Watcher = unreachable{c.etcd.KV}, c.etcd.Lease, c.etcd.Watcher
	c.hub.etcd = gone
	for range 20 { // in either order of the kinds
		if _, err := m.roomFor(c.ctx()); !errors.Is(err, errUnreachable) {
			t.Fatalf("counted without etcd: %v", err)
		}
	}
	if m.beyond[widgetCollection].len() != 1 || m.beyond[podCollection].len() != 1 {
		t.Error("one is forgotten")
	}
}

// A big repository is made from its export as far as there is room; with the views lost
// all that was there is there again, with its uid, whatever the limit is by then.
func TestWorkspaceRoomOfABigRepository(t *testing.T) {
	w := newWorld(t)
	room, with := w.room(200)
	r := w.replica("A", with)
	for i := range 400 {
		r.put(fmt.Sprintf("r%03d", i))
	}
	names := r.names()
	if len(names) != 200 || names[199] != "r199" || r.m().state().Beyond != 200 {
		t.Errorf("%d: %v, %+v", len(names), names, r.m().state())
	}
	if n := w.repo.count("prove"); n != 0 {
		t.Errorf("%d records were read by themselves", n)
	}
	before := r.uids()
	if _, err := w.etcd.Delete(t.Context(), w.prefix+"/views/", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	room.set(func() { room.most = 50 })
	next := w.replica("B", with)
	if again := next.names(); !slices.Equal(again, names) {
		t.Errorf("%d after the loss", len(again))
	}
	for name, uid := range next.uids() {
		if before[name] != uid {
			t.Errorf("%s has another uid", name)
		}
	}
	if st := next.m().state(); st.Beyond != 200 {
		t.Errorf("%+v", st)
	}
}

// bytesRoom is bounded by bytes alone: for how many objects there is room isn't known.
type bytesRoom struct{ *testRoom }

// Free implements Room.
func (r bytesRoom) Free(ctx context.Context, ws string) (int, int64, bool, error) {
	n, _, limited, err := r.testRoom.Free(ctx, ws)
	return math.MaxInt, int64(n) * 1000, limited, err
}

// What a big repository has beyond the room of its workspace costs no request, also
// where it turns out only by the size of each that there is none.
func TestWorkspaceRoomOfABigRepositoryInBytes(t *testing.T) {
	w := newWorld(t)
	room, _ := w.room(100)
	r := w.replica("A", func(c *HubConfig) { c.Room = bytesRoom{room} })
	for i := range 300 {
		r.put(fmt.Sprintf("r%03d", i))
	}
	shows := func(when string, served, beyond int) {
		t.Helper()
		if n, st := len(r.names()), r.m().state(); n != served || st.Beyond != beyond {
			t.Errorf("%s: %d, and %d want room", when, n, st.Beyond)
		}
	}
	shows("compared", 100, 200)
	if n := w.repo.count("prove"); n != 0 {
		t.Errorf("%d requests for records that want room", n)
	}
	room.set(func() { room.most = 150 })
	r.deliverAll()
	shows("room", 150, 150)
}

// A collection says whose bound its records are beyond.
func TestCollectionInAFullWorkspace(t *testing.T) {
	w := newWorld(t)
	room, with := w.room(1)
	side := newMemRepo(sideDID)
	c := &collector{replica: w.replica("A", with), side: side, src2: newMemSource(side)}
	c.src2.stall()
	c.mountSide(AccessRead)
	for _, name := range []string{"a", "b", "c"} {
		side.foreign(recordKey(name), widgetRecord(name))
	}
	c.collect(aCollection("col", 2))
	c.shows("full", "a")
	if m := c.members(); m.Beyond != 2 || !m.WorkspaceFull {
		t.Errorf("%+v", m)
	}
	if st := c.s().state(); st.Beyond != 0 {
		t.Errorf("counted twice: %+v", st)
	}
	room.set(func() { room.most = 9 })
	c.deliverSide()
	c.shows("room in the workspace", "a", "b")
	if m := c.members(); m.Beyond != 1 || m.WorkspaceFull {
		t.Errorf("%+v", m)
	}
	c.collect(nil)
	c.deliverSide()
	c.shows("no collection", "a", "b")
}
