package atproto

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/bluesky-social/indigo/atproto/atcrypto"
	"github.com/bluesky-social/indigo/atproto/identity"
	"github.com/bluesky-social/indigo/atproto/repo"
	"github.com/ipfs/go-cid"
	testclock "k8s.io/utils/clock/testing"
)

// identities is a source whose answer the test sets.
type identities struct {
	mu    sync.Mutex
	asked int
	key   atcrypto.PublicKey
	err   error
}

func (i *identities) Resolve(context.Context, string) (*identity.Identity, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked++
	if i.err != nil {
		return nil, i.err
	}
	return &identity.Identity{Keys: map[string]identity.VerificationMethod{
		"atproto": {Type: "Multikey", PublicKeyMultibase: i.key.Multibase()},
	}}, nil
}

func newKey(t *testing.T) (atcrypto.PrivateKey, atcrypto.PublicKey) {
	t.Helper()
	k, err := atcrypto.GeneratePrivateKeyK256()
	if err != nil {
		t.Fatal(err)
	}
	pub, err := k.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return k, pub
}

func signed(t *testing.T, did string, k atcrypto.PrivateKey) *repo.Commit {
	t.Helper()
	c := &repo.Commit{DID: did, Version: 3, Rev: "3kabcdefghi22", Data: cid.MustParse(someCID)}
	if err := c.Sign(k); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRotatedKeyIsLookedUpOnce(t *testing.T) {
	k1, pub1 := newKey(t)
	k2, pub2 := newKey(t)
	src := &identities{key: pub1}
	clk := testclock.NewFakeClock(start)
	keys := NewKeys(src, clk)
	verify := func(k atcrypto.PrivateKey) error {
		return VerifySignature(t.Context(), keys, testDID, signed(t, testDID, k))
	}
	for range 10 {
		if err := verify(k1); err != nil {
			t.Fatal(err)
		}
	}
	if src.asked != 1 {
		t.Errorf("asked %d times for one key", src.asked)
	}
	src.key = pub2
	clk.Step(keyFreshEvery)
	if err := verify(k2); err != nil || src.asked != 2 {
		t.Errorf("after the rotation: %v, asked %d times", err, src.asked)
	}
	// Bad signatures don't make us ask all the time.
	for range 10 {
		if err := verify(k1); !errors.Is(err, ErrBadData) {
			t.Errorf("the old key: %v", err)
		}
	}
	if src.asked != 2 {
		t.Errorf("asked %d times", src.asked)
	}
	if err := VerifySignature(t.Context(), keys, "did:plc:other", signed(t, testDID, k2)); !errors.Is(err, ErrBadData) {
		t.Errorf("another account's commit: %v", err)
	}
}

func TestKnownKeySurvivesAnOutageOfTheDirectory(t *testing.T) {
	_, pub := newKey(t)
	src := &identities{err: ErrUnavailable}
	clk := testclock.NewFakeClock(start)
	keys := NewKeys(src, clk)
	if _, err := keys.SigningKey(t.Context(), testDID, false); !errors.Is(err, ErrUnavailable) {
		t.Errorf("unknown key: %v", err)
	}
	src.key, src.err = pub, nil
	// The failure is remembered for a moment, so that nobody waits for it again.
	if _, err := keys.SigningKey(t.Context(), testDID, false); !errors.Is(err, ErrUnavailable) || src.asked != 1 {
		t.Errorf("right after a failure: %v, asked %d times", err, src.asked)
	}
	clk.Step(keyRetryFirst)
	if _, err := keys.SigningKey(t.Context(), testDID, false); err != nil {
		t.Error(err)
	}
	src.err = ErrUnavailable
	clk.Step(2 * keyTTL)
	if k, err := keys.SigningKey(t.Context(), testDID, false); err != nil || !k.Equal(pub) {
		t.Errorf("known key: %v", err)
	}
}

// TestKeysOfAccountsThatNobodyAsksFor: however many accounts come, those that are in use
// stay known, and the others are forgotten.
func TestKeysOfAccountsThatNobodyAsksFor(t *testing.T) {
	t.Parallel()
	_, pub := newKey(t)
	src := &identities{key: pub}
	keys := NewKeys(src, testclock.NewFakeClock(start))
	ask := func(did string) {
		t.Helper()
		if _, err := keys.SigningKey(t.Context(), did, false); err != nil {
			t.Fatal(err)
		}
	}
	ask("did:plc:first")
	for i := range keysKept + 100 {
		if i%(keysKept/2) == 0 {
			ask(testDID)
		}
		ask(fmt.Sprint("did:plc:", i))
	}
	if n := keys.keys.Len(); n != keysKept {
		t.Errorf("%d keys are kept, want %d", n, keysKept)
	}
	asked := src.asked
	if ask(testDID); src.asked != asked {
		t.Error("a key that is in use was forgotten")
	}
	if ask("did:plc:first"); src.asked != asked+1 {
		t.Error("a key that nobody asked for is kept")
	}
}

func TestConcurrentLookupsAskOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, pub := newKey(t)
		src := &slowIdentities{identities: identities{key: pub}, answer: make(chan struct{})}
		keys := NewKeys(src, nil)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := keys.SigningKey(t.Context(), testDID, false); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // until all have asked
		close(src.answer)
		wg.Wait()
		if src.asked != 1 {
			t.Errorf("asked %d times", src.asked)
		}
	})
}

// slowIdentities is a source that answers once it may.
type slowIdentities struct {
	identities
	answer chan struct{}
}

func (s *slowIdentities) Resolve(ctx context.Context, did string) (*identity.Identity, error) {
	<-s.answer
	return s.identities.Resolve(ctx, did)
}

func TestResolveDID(t *testing.T) {
	_, pub := newKey(t)
	const did = "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"
	doc := map[string]any{
		"id":                 did,
		"alsoKnownAs":        []string{"at://alice.test"},
		"verificationMethod": []any{map[string]any{"id": did + "#atproto", "type": "Multikey", "controller": did, "publicKeyMultibase": pub.Multibase()}},
		"service":            []any{map[string]any{"id": "#atproto_pds", "type": "AtprotoPersonalDataServer", "serviceEndpoint": "https://pds.example"}},
	}
	f := newFakePDS(t)
	f.say("/"+did, 200, doc)
	r := &DIDResolver{PLCURL: f.URL + "/", HTTP: f.config(t).HTTP}
	ident, err := r.Resolve(t.Context(), did)
	if err != nil || ident.PDSEndpoint() != "https://pds.example" {
		t.Fatalf("%+v, %v", ident, err)
	}
	if k, err := ident.PublicKey(); err != nil || !k.Equal(pub) {
		t.Errorf("key: %v", err)
	}
	host := strings.TrimPrefix(f.URL, "http://127.0.0.1")
	web := "did:web:localhost" + strings.ReplaceAll(host, ":", "%3A")
	doc["id"] = web
	f.say("/.well-known/did.json", 200, doc)
	if _, err := r.Resolve(t.Context(), web); err != nil {
		t.Errorf("%s: %v", web, err)
	}
	for name, tc := range map[string]struct {
		did  string
		h    http.HandlerFunc
		want error
	}{
		"not there":     {did, status(404), ErrRepoNotFound},
		"tombstone":     {did, status(410), ErrRepoNotFound},
		"down":          {did, status(500), ErrUnavailable},
		"redirect":      {did, status(302), ErrUnavailable},
		"cut":           {did, truncate, ErrUnavailable},
		"not json":      {did, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<")) }, ErrBadData},
		"another's":     {did, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, map[string]any{"id": web}) }, ErrBadData},
		"too large":     {did, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxDIDDocument+1)) }, ErrBadData},
		"no DID":        {"alice", nil, ErrBadData},
		"other method":  {"did:key:zQ3sh", nil, ErrBadData},
		"web with port": {"did:web:pds.example%3A8080", nil, ErrBadData},
		"web with IP":   {"did:web:127.0.0.1", nil, ErrBadData},
		"web with path": {"did:web:a.example%2Fx", nil, ErrBadData},
	} {
		f.on("/"+did, tc.h)
		if _, err := r.Resolve(t.Context(), tc.did); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	if _, err := r.ResolveHandle(t.Context(), "no handle"); !errors.Is(err, ErrBadData) {
		t.Errorf("%v", err)
	}
}

func TestPDSIdentity(t *testing.T) {
	_, pub := newKey(t)
	f := newFakePDS(t)
	src, err := NewPDSIdentity(f.config(t))
	if err != nil {
		t.Fatal(err)
	}
	doc := map[string]any{
		"id":                 testDID,
		"verificationMethod": []any{map[string]any{"id": testDID + "#atproto", "type": "Multikey", "controller": testDID, "publicKeyMultibase": pub.Multibase()}},
	}
	f.say("com.atproto.repo.describeRepo", 200, map[string]any{"did": testDID, "didDoc": doc})
	if k, err := NewKeys(src, nil).SigningKey(t.Context(), testDID, false); err != nil || !k.Equal(pub) {
		t.Errorf("%v", err)
	}
	doc["id"] = "did:plc:other"
	f.say("com.atproto.repo.describeRepo", 200, map[string]any{"did": testDID, "didDoc": doc})
	if _, err := src.Resolve(t.Context(), testDID); !errors.Is(err, ErrBadData) {
		t.Errorf("%v", err)
	}
	f.say("com.atproto.repo.describeRepo", 400, xrpcError("RepoNotFound", ""))
	if _, err := src.Resolve(t.Context(), testDID); !errors.Is(err, ErrRepoNotFound) {
		t.Errorf("%v", err)
	}
}
