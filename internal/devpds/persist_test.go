package devpds

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bluesky-social/indigo/atproto/identity"
	"github.com/bluesky-social/indigo/atproto/syntax"

	"socialweb.computer/infra-apiserver/internal/testport"
)

// TestReopen shows that everything is there again after Close: accounts and
// their status, keys, sessions, records, events, takedowns, the address.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	free, err := testport.Free() // any other could be somebody else's between the two
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "address"), []byte(free), 0o600); err != nil {
		t.Fatal(err)
	}
	config := Config{Dir: dir, Accounts: []AccountConfig{{Handle: "alice.test"}, {Handle: "bob.test"}}}
	first, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	c := (&caller{t: t, base: first.URL()}).login(first.Accounts()[0])
	bob := (&caller{t: t, base: first.URL()}).login(first.Accounts()[1])
	model := map[string]string{}
	runRandom(t, c, rand.New(rand.NewPCG(3, 0)), model, 60)
	model[pathOf(collection, "down")] = c.put("down", object{"x": 1}).want(t, 200, "").text("cid")
	(&caller{t: t, base: first.URL(), admin: first.AdminPassword()}).post("com.atproto.admin.updateSubjectStatus", object{
		"subject":  object{"$type": subjectRecord, "uri": uri(c.did, pathOf(collection, "down"))},
		"takedown": object{"applied": true},
	}).want(t, 200, "")
	bob.post("com.atproto.server.deactivateAccount", object{}).want(t, 200, "")
	rev := c.get("com.atproto.sync.getLatestCommit", "did", c.did).text("rev")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	second := open(t, config)
	if second.URL() != first.URL() || second.Accounts()[0] != first.Accounts()[0] {
		t.Errorf("%s %+v, before %s %+v", second.URL(), second.Accounts()[0], first.URL(), first.Accounts()[0])
	}
	c.get("com.atproto.server.getSession").want(t, 200, "") // the old token
	if got := c.get("com.atproto.sync.getLatestCommit", "did", c.did).text("rev"); got != rev {
		t.Errorf("rev %s, before %s", got, rev)
	}
	c.read("down").want(t, 400, "RecordNotFound")
	c.get("com.atproto.sync.getLatestCommit", "did", bob.did).want(t, 400, "RepoDeactivated")
	verifyExport(t, c, model)
	runRandom(t, c, rand.New(rand.NewPCG(4, 0)), model, 60)
	verifyExport(t, c, model)
	verifyEvents(t, second, c.did)
}

// TestFileModes shows that nobody else can read what is kept.
func TestFileModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	s := open(t, Config{Dir: dir})
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	address, err := os.ReadFile(filepath.Join(dir, "address"))
	if _, port, found := strings.Cut(string(address), ":"); err != nil || !found || s.URL() != "http://localhost:"+strings.TrimSpace(port) {
		t.Errorf("address kept %q of %s, %v", address, s.URL(), err)
	}
	a := s.Accounts()[0]
	b, err := os.ReadFile(a.PasswordFile)
	if err != nil || strings.TrimSpace(string(b)) != a.Password {
		t.Errorf("password file: %v", err)
	}
	if _, err := Open(Config{Dir: dir}); err == nil {
		t.Error("the data could be opened twice")
	}
}

// TestNewPassword shows that a configured password replaces the one before.
func TestNewPassword(t *testing.T) {
	dir := t.TempDir()
	for _, password := range []string{"", "one-password", "another-password", ""} {
		s, err := Open(Config{Dir: dir, Accounts: []AccountConfig{{Handle: "alice.test", Password: password}}})
		if err != nil {
			t.Fatal(err)
		}
		got := s.Accounts()[0].Password
		if password != "" && got != password {
			t.Errorf("password %q, want %q", got, password)
		}
		if password == "" && got == "" {
			t.Error("no password was made")
		}
		(&caller{t: t, base: s.URL()}).login(s.Accounts()[0])
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIdentityResolves shows that indigo's directory finds handle, key and PDS
// with this server as its did:plc directory.
func TestIdentityResolves(t *testing.T) {
	s, _ := memory(t, Config{ListenAddr: "127.0.0.1:0"})
	a := s.Accounts()[0]
	dir := identity.BaseDirectory{PLCURL: s.URL(), HTTPClient: *testClient, SkipHandleVerification: true}
	id, err := dir.LookupDID(context.Background(), syntax.DID(a.DID))
	if err != nil {
		t.Fatal(err)
	}
	if id.PDSEndpoint() != s.URL() {
		t.Errorf("PDS %s, want %s", id.PDSEndpoint(), s.URL())
	}
	pub, err := id.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := s.findAccount(a.DID).key()
	if err != nil {
		t.Fatal(err)
	}
	want, err := key.PublicKey()
	if err != nil || !pub.Equal(want) {
		t.Errorf("key %v, want %v", pub, want)
	}
	if h, err := id.DeclaredHandle(); err != nil || h.String() != a.Handle {
		t.Errorf("handle %v %v", h, err)
	}
}

// brokenStore fails to write while broken is set.
type brokenStore struct {
	store
	broken bool
}

func (b *brokenStore) apply(c change) error {
	if b.broken {
		return errors.New("disk full")
	}
	return b.store.apply(c)
}

// TestFailedWrite shows that a write that can't be made durable leaves nothing
// behind: not in what readers see, not in the next commit, not in the events.
func TestFailedWrite(t *testing.T) {
	s, c := memory(t, Config{})
	broken := &brokenStore{store: s.store}
	s.store = broken
	model := map[string]string{}
	runRandom(t, c, rand.New(rand.NewPCG(5, 0)), model, 100)
	before := s.repository(c.did).cur.Load()
	broken.broken = true
	for range 3 {
		c.put("lost", object{"x": 1}).want(t, 500, "InternalServerError")
		c.remove("lost").want(t, 200, "") // it isn't there
	}
	if s.repository(c.did).cur.Load() != before {
		t.Fatal("a failed write is visible")
	}
	broken.broken = false
	runRandom(t, c, rand.New(rand.NewPCG(6, 0)), model, 100)
	verifyExport(t, c, model)
	verifyEvents(t, s, c.did)
}

// TestForgetsOldEvents shows that events older than the window go from the disk,
// and that a cursor before them is told so.
func TestForgetsOldEvents(t *testing.T) {
	dir, now := t.TempDir(), newFakeClock()
	config := Config{Dir: dir, Backfill: time.Hour, Clock: now}
	s, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	c := (&caller{t: t, base: s.URL()}).login(s.Accounts()[0])
	c.put("old", object{"x": 1}).want(t, 200, "")
	last, _, _ := s.log.state()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	now.step(2 * time.Hour)
	s = open(t, config)
	if events, err := s.store.events(0, 10); err != nil || len(events) != 0 {
		t.Fatalf("%d events kept, %v", len(events), err)
	}
	c = (&caller{t: t, base: s.URL()}).login(s.Accounts()[0])
	outdated, current := subscribe(t, s, "?cursor=1"), subscribe(t, s, subscribeAt(last))
	outdated.want("#info")
	rev := c.put("new", object{"x": 1}).want(t, 200, "").body["commit"].(object)["rev"].(string)
	for _, sub := range []*subscription{outdated, current} {
		if m := sub.commit(); m.Rev != rev || m.Seq != int64(last)+1 {
			t.Errorf("commit %d %s, want %d %s", m.Seq, m.Rev, last+1, rev)
		}
	}
}
