package events

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	comatproto "github.com/bluesky-social/indigo/api/atproto"
	"github.com/bluesky-social/indigo/atproto/atcrypto"
	lexutil "github.com/bluesky-social/indigo/lex/util"
	"github.com/fxamacker/cbor/v2"
	"github.com/gorilla/websocket"
	cbg "github.com/whyrusleeping/cbor-gen"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/internal/cartest"
)

const (
	testDID        = "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"
	testCollection = "computer.socialweb.infra"
	// patience is how long a test waits for what must happen.
	patience = 2 * time.Minute
)

// conn is one connection to a fake stream.
type conn struct {
	*websocket.Conn
	query string
}

// fakeStream is a websocket server whose connections the test handles in turn.
type fakeStream struct {
	*httptest.Server
	conns chan *conn
}

func newFakeStream(t *testing.T) *fakeStream {
	t.Helper()
	f := &fakeStream{conns: make(chan *conn, 10)}
	up := websocket.Upgrader{}
	var open []*websocket.Conn
	var mu sync.Mutex
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		open = append(open, c)
		mu.Unlock()
		f.conns <- &conn{Conn: c, query: r.URL.RawQuery}
	}))
	t.Cleanup(func() {
		f.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			_ = c.Close()
		}
	})
	return f
}

// next is the next connection.
func (f *fakeStream) next(t *testing.T) *conn {
	t.Helper()
	select {
	case c := <-f.conns:
		return c
	case <-time.After(patience):
		t.Fatal("nobody connected")
		return nil
	}
}

func (c *conn) send(t *testing.T, kind int, b []byte) {
	t.Helper()
	if err := c.WriteMessage(kind, b); err != nil {
		t.Fatal(err)
	}
}

func (f *fakeStream) stream() Stream {
	return Stream{
		URL: f.URL, Collections: []string{testCollection}, Dialer: atproto.NewDialer(true),
		MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond,
	}
}

// recorder keeps what a handler got.
type recorder struct{ ch chan Event }

func newRecorder() *recorder { return &recorder{ch: make(chan Event, 1000)} }

func (r *recorder) handle(e Event) { r.ch <- e }

// next is the next event.
func (r *recorder) next(t *testing.T) Event {
	t.Helper()
	select {
	case e := <-r.ch:
		return e
	case <-time.After(patience):
		t.Fatal("no event")
		return Event{}
	}
}

// want checks the next event: its kind and rev.
func (r *recorder) want(t *testing.T, kind Kind, rev string) Event {
	t.Helper()
	e := r.next(t)
	if e.Kind != kind || e.Rev != rev {
		t.Fatalf("got %+v, want %s %s", e, kind, rev)
	}
	return e
}

// none checks that nothing more was delivered. It must be called when nothing
// more can come.
func (r *recorder) none(t *testing.T) {
	t.Helper()
	select {
	case e := <-r.ch:
		t.Errorf("unexpected %+v", e)
	default:
	}
}

// start runs a source until the test ends or stop is called.
func start(t *testing.T, s Source) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// account makes the commits of a repository, as a PDS emits them.
type account struct {
	t    testing.TB
	key  atcrypto.PrivateKey
	revs int64
	prev *cartest.Built
	last string
	recs map[string]map[string]any
}

func newAccount(t testing.TB) *account {
	t.Helper()
	k, err := atcrypto.GeneratePrivateKeyK256()
	if err != nil {
		t.Fatal(err)
	}
	a := &account{t: t, key: k, recs: map[string]map[string]any{}}
	a.build()
	return a
}

// SigningKey implements atproto.KeyResolver.
func (a *account) SigningKey(context.Context, string, bool) (atcrypto.PublicKey, error) {
	return a.key.PublicKey()
}

func (a *account) build() *cartest.Built {
	a.revs++
	a.last = cartest.TID(a.revs)
	a.prev = cartest.Repo{DID: testDID, Key: a.key, Rev: a.last, Records: a.recs}.Build(a.t)
	return a.prev
}

// commit puts (or, with an empty text, deletes) the record rkey.
func (a *account) commit(seq int64, rkey, text string) *comatproto.SyncSubscribeRepos_Commit {
	a.t.Helper()
	path := testCollection + "/" + rkey
	before, since := a.prev, a.last
	was, existed := before.CIDs[path]
	op := &comatproto.SyncSubscribeRepos_RepoOp{Path: path, Action: "create"}
	if existed {
		op.Action, op.Prev = "update", (*lexutil.LexLink)(&was)
	}
	if text == "" {
		op.Action = "delete"
		delete(a.recs, path)
	} else {
		a.recs[path] = map[string]any{"$type": testCollection, "description": text}
	}
	now := a.build()
	if text != "" {
		is := now.CIDs[path]
		op.Cid = (*lexutil.LexLink)(&is)
	}
	return &comatproto.SyncSubscribeRepos_Commit{
		Seq: seq, Repo: testDID, Rev: a.last, Since: &since, Time: "2026-01-02T03:04:05.000Z",
		Commit: lexutil.LexLink(now.Root), Blocks: now.CAR(a.t, nil), PrevData: (*lexutil.LexLink)(&before.Data),
		Ops: []*comatproto.SyncSubscribeRepos_RepoOp{op}, Blobs: []lexutil.LexLink{},
	}
}

// frame encodes a message.
func frame(t testing.TB, kind string, body cbg.CBORMarshaler) []byte {
	t.Helper()
	h, err := cbor.Marshal(map[string]any{"op": 1, "t": kind})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := body.MarshalCBOR(&buf); err != nil {
		t.Fatal(err)
	}
	return slices.Concat(h, buf.Bytes())
}

// errorFrame encodes an error.
func errorFrame(t testing.TB, name string) []byte {
	t.Helper()
	h, err1 := cbor.Marshal(map[string]any{"op": -1})
	b, err2 := cbor.Marshal(map[string]any{"error": name, "message": "because"})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return slices.Concat(h, b)
}
