package repos

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/bluesky-social/indigo/atproto/identity"
	"github.com/bluesky-social/indigo/atproto/syntax"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/credentials"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

const (
	victim   = "did:plc:victimvictimvictimvictim"
	thief    = "did:plc:thiefthiefthiefthiefthie"
	password = "app-pass-word"
)

// listener is a PDS of every account, which keeps what it is told.
type listener struct {
	*httptest.Server
	mu   sync.Mutex // guards what follows
	told []string
	// revoked: every token is refused.
	revoked bool
}

// listen starts a PDS whose sessions are of did.
func listen(t *testing.T, did string) *listener {
	t.Helper()
	l := &listener{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		l.mu.Lock()
		l.told = append(l.told, r.URL.Path+" "+string(b))
		refuse := l.revoked && r.Header.Get("Authorization") != ""
		l.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if refuse {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"ExpiredToken","message":"revoked"}`)
			return
		}
		if err := json.NewEncoder(w).Encode(map[string]string{"did": did, "handle": "x.test", "accessJwt": "a", "refreshJwt": "r"}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(l.Close)
	return l
}

// logins counts the passwords that it was sent.
func (l *listener) logins() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.told {
		if strings.Contains(s, password) {
			n++
		}
	}
	return n
}

// plc knows accounts by DID and handle; away: it answers nothing.
type plc struct {
	pds     map[string]string // by DID
	handles map[string]string // to DIDs
	away    error
}

func (d *plc) Resolve(_ context.Context, did string) (*identity.Identity, error) {
	pds, ok := d.pds[did]
	switch {
	case d.away != nil:
		return nil, d.away
	case !ok:
		return nil, atproto.ErrRepoNotFound
	}
	return &identity.Identity{
		DID:      syntax.DID(did),
		Services: map[string]identity.ServiceEndpoint{"atproto_pds": {Type: "AtprotoPersonalDataServer", URL: pds}},
	}, nil
}

func (d *plc) ResolveHandle(ctx context.Context, handle string) (*identity.Identity, error) {
	if d.away != nil {
		return nil, d.away
	}
	return d.Resolve(ctx, d.handles[handle])
}

// vault holds one account's credentials.
type vault struct{ credentials.Credentials }

func (v *vault) Get(context.Context, string, string) (credentials.Credentials, error) {
	return v.Credentials, nil
}

func holds(identifier, pds string) *vault {
	return &vault{credentials.Credentials{Credentials: atproto.Credentials{Identifier: identifier, Password: password}, PDS: pds}}
}

// dial makes the connection of an AtprotoRepo that names the credentials of v.
func dial(t *testing.T, ids Identities, v credentials.Provider, did, pds string) *connection {
	t.Helper()
	m := New(Config{
		Identities: ids, Credentials: v, HTTP: atproto.NewHTTPClient(true), Budgets: atproto.NewBudgets(atproto.BudgetOptions{}),
	})
	t.Cleanup(m.shutDown)
	obj := named("ws", "repo")
	obj.Spec.CredentialsRef = &v1alpha1.CredentialsReference{Name: "theirs"}
	conn, err := m.connect(key{"ws", "repo"}, routeOf(obj, account{did: did, pds: pds}))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// Who may write AtprotoRepos can't have the password of others' credentials sent
// elsewhere than its owner meant.
func TestPasswordGoesToItsOwnersPDSAlone(t *testing.T) {
	honest, evil := listen(t, victim), listen(t, victim)
	proxy := listen(t, victim)
	docs := map[string]string{victim: honest.URL + "/", thief: evil.URL}
	handles := map[string]string{"victim.test": victim, "lost.test": "did:plc:lostlostlostlostlostlost"}
	up, away := &plc{pds: docs, handles: handles}, &plc{away: atproto.ErrUnavailable}
	for name, c := range map[string]struct {
		ids             *plc
		identifier, pin string
		did, pds        string
		want            error  // nil: a login at pds
		says            string // in the error
	}{
		"at the DID document's PDS":             {ids: up, identifier: victim, did: victim, pds: honest.URL},
		"by handle":                             {ids: up, identifier: "victim.test", did: victim, pds: honest.URL},
		"at another that the owner names":       {ids: up, identifier: victim, pin: proxy.URL, did: victim, pds: proxy.URL},
		"by handle, at another":                 {ids: up, identifier: "victim.test", pin: proxy.URL, did: victim, pds: proxy.URL},
		"pinned, without a directory":           {ids: away, identifier: victim, pin: proxy.URL, did: victim, pds: proxy.URL},
		"another PDS":                           {up, victim, "", victim, evil.URL, atproto.ErrUnauthorized, "spec.pds"},
		"another PDS, by handle":                {up, "victim.test", "", victim, evil.URL, atproto.ErrUnauthorized, "spec.pds"},
		"another PDS than the owner names":      {up, victim, proxy.URL, victim, evil.URL, atproto.ErrUnauthorized, "spec.pds"},
		"the document's, and the owner says no": {up, victim, proxy.URL, victim, honest.URL, atproto.ErrUnauthorized, `entry "pds"`},
		"another account":                       {up, victim, "", thief, evil.URL, atproto.ErrUnauthorized, "spec.credentialsRef"},
		"another account, by handle":            {up, "victim.test", "", thief, evil.URL, atproto.ErrUnauthorized, "spec.did"},
		"another account, at the owner's PDS":   {up, victim, proxy.URL, thief, proxy.URL, atproto.ErrUnauthorized, "spec.did"},
		"the directory is away":                 {away, victim, "", victim, honest.URL, atproto.ErrUnavailable, "DID document"},
		"handles can't be resolved":             {away, "victim.test", proxy.URL, victim, proxy.URL, atproto.ErrUnavailable, "handle"},
		"no such account":                       {up, "lost.test", "", victim, evil.URL, atproto.ErrUnauthorized, `entry "identifier"`},
		"no such document":                      {&plc{}, victim, "", victim, evil.URL, atproto.ErrUnauthorized, `entry "pds"`},
	} {
		t.Run(name, func(t *testing.T) {
			before := map[*listener]int{honest: honest.logins(), evil: evil.logins(), proxy: proxy.logins()}
			err := dial(t, c.ids, holds(c.identifier, c.pin), c.did, c.pds).client.CheckAuth(t.Context())
			if !errors.Is(err, c.want) || errors.Is(err, atproto.ErrRepoNotFound) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), password)) {
				t.Errorf("%q, want %q in it, and no password", err, c.says)
			}
			for l, n := range before {
				if c.want == nil && l.URL == c.pds {
					n++
				}
				if l.logins() != n {
					t.Errorf("%s was sent %d passwords, want %d", l.URL, l.logins(), n)
				}
			}
		})
	}
	evil.mu.Lock()
	defer evil.mu.Unlock()
	if len(evil.told) != 0 {
		t.Errorf("the thief was told %q", evil.told)
	}
}

// What the owner of credentials changes counts from the next login on, without a
// restart.
func TestPermitChanges(t *testing.T) {
	proxy := listen(t, victim)
	docs, v := &plc{pds: map[string]string{victim: "https://pds.example"}}, holds(victim, "")
	conn := dial(t, docs, v, victim, proxy.URL)
	if err := conn.client.CheckAuth(t.Context()); !errors.Is(err, atproto.ErrUnauthorized) || proxy.logins() != 0 {
		t.Errorf("before: %v, %d logins", err, proxy.logins())
	}
	// Also when the directory is what stands in the way.
	docs.away = atproto.ErrUnavailable
	if err := conn.client.CheckAuth(t.Context()); !errors.Is(err, atproto.ErrUnavailable) || proxy.logins() != 0 {
		t.Errorf("without a directory: %v, %d logins", err, proxy.logins())
	}
	v.PDS = proxy.URL
	if err := conn.client.CheckAuth(t.Context()); err != nil || proxy.logins() != 1 {
		t.Errorf("permitted: %v, %d logins", err, proxy.logins())
	}
	v.PDS = "https://pds.example"
	proxy.mu.Lock()
	proxy.revoked = true
	proxy.mu.Unlock()
	if err := conn.client.CheckAuth(t.Context()); !errors.Is(err, atproto.ErrUnauthorized) || proxy.logins() != 1 {
		t.Errorf("withdrawn: %v, %d logins", err, proxy.logins())
	}
}
