package repostore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
	"socialweb.computer/infra-apiserver/internal/testpds"
)

// suitePDS is the embedded PDS of one case. It makes an account for each
// namespace when the namespace is first named.
type suitePDS struct {
	server *testpds.Server
	http   *http.Client

	mu    sync.Mutex
	repos map[string]*announcedRepo // by namespace
}

func newSuitePDS(t testing.TB) *suitePDS {
	p := &suitePDS{server: testpds.StartDev(t, testpds.Options{}), http: atproto.NewHTTPClient(true), repos: map[string]*announcedRepo{}}
	t.Cleanup(p.http.CloseIdleConnections)
	return p
}

// mount makes the account of a namespace and mounts its repository there. It returns
// once that has been compared, for the comparison moves etcd's revision, and the
// suite counts those.
func (p *suitePDS) mount(ctx context.Context, h *Hub, namespace string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.repos[namespace] != nil {
		return nil
	}
	const password = "correct-horse"
	handle := namespace + ".test"
	if err := p.createAccount(ctx, handle, password); err != nil {
		return fmt.Errorf("account of namespace %q: %w", namespace, err)
	}
	client, err := atproto.Login(ctx, p.server.URL, atproto.Credentials{Identifier: handle, Password: password},
		atproto.LoginOptions{HTTP: p.http, PLCURL: p.server.PLCURL})
	if err != nil {
		return fmt.Errorf("account of namespace %q: %w", namespace, err)
	}
	r := &announcedRepo{Repo: client}
	p.repos[namespace] = r
	h.SetRepo(MountedRepo{Workspace: namespace, Name: namespace, Repo: r, Source: r, Default: true, Access: AccessReadWrite})
	for h.mountNamed(namespace, namespace).progress.knownRev() == "" {
		if err := sleepFor(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func sleepFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *suitePDS) createAccount(ctx context.Context, handle, password string) error {
	body, err := json.Marshal(map[string]any{"handle": handle, "email": handle + "@example.test", "password": password})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.server.URL+"/xrpc/com.atproto.server.createAccount", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("createAccount: %s", resp.Status)
	}
	return nil
}

// announcedRepo is a repository that is its own event source: it announces what
// is written through it, in the order of the commits, while the writer waits.
type announcedRepo struct {
	atproto.Repo

	mu       sync.Mutex // held over a write, so that events keep the commits' order
	handlers map[int]events.Handler
	next     int
}

var _ events.Source = (*announcedRepo)(nil)

func (r *announcedRepo) Run(ctx context.Context) error { <-ctx.Done(); return nil }
func (r *announcedRepo) Connected() bool               { return true }

func (r *announcedRepo) Subscribe(did string, h events.Handler) func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handlers == nil {
		r.handlers = map[int]events.Handler{}
	}
	id := r.next
	r.next++
	r.handlers[id] = h
	h(events.Event{Kind: events.Gap, DID: did, Reason: "subscribed"})
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.handlers, id)
	}
}

func (r *announcedRepo) announceLocked(e events.Event) {
	e.DID = r.DID()
	for _, h := range r.handlers {
		h(e)
	}
}

func (r *announcedRepo) PutRecord(ctx context.Context, key atproto.Key, value map[string]any, swap atproto.Swap) (atproto.PutResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	res, err := r.Repo.PutRecord(ctx, key, value, swap)
	r.writtenLocked(key, res.CID, res.Commit, err)
	return res, err
}

func (r *announcedRepo) DeleteRecord(ctx context.Context, key atproto.Key, swap atproto.Swap) (*atproto.Commit, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	commit, err := r.Repo.DeleteRecord(ctx, key, swap)
	r.writtenLocked(key, "", commit, err)
	return commit, err
}

func (r *announcedRepo) writtenLocked(key atproto.Key, cid string, commit *atproto.Commit, err error) {
	switch {
	case errors.Is(err, atproto.ErrUnknownOutcome):
		r.announceLocked(events.Event{Kind: events.Gap, Reason: "a write of unknown outcome"})
	case err == nil && commit != nil:
		r.announceLocked(events.Event{Kind: events.Commit, Rev: commit.Rev, Ops: []events.Op{{Collection: key.Collection, RKey: key.RKey, CID: cid}}})
	}
}
