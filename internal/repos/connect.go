package repos

import (
	"context"
	"fmt"
	"time"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
	"socialweb.computer/infra-apiserver/internal/credentials"
	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// connection is one way to reach an account.
type connection struct {
	route
	client  *atproto.Client
	source  events.Source
	release func()
}

// route is what a connection depends on: with an equal route it stays.
type route struct {
	did, pds    string
	credentials string // "": none
	source      SourceKey
}

func routeOf(obj *v1alpha1.AtprotoRepo, a account) route {
	r := route{did: a.did, pds: a.pds, source: SourceKey{Type: obj.Spec.EventSource, PDS: a.pds}}
	if host, err := atproto.NormalizeHost(a.pds); err == nil {
		r.pds, r.source.PDS = host, host
	}
	if obj.Spec.CredentialsRef != nil {
		r.credentials = obj.Spec.CredentialsRef.Name
	}
	if r.source.Type == v1alpha1.EventSourceJetstream {
		r.source.Jetstream = obj.Spec.JetstreamURL
	}
	return r
}

// sourceError says that the event source that a spec asks for can't be made.
type sourceError struct{ error }

// Unwrap gives the cause.
func (e *sourceError) Unwrap() error { return e.error }

// tenantOf a workspace: the server's own is nobody's, and each of its accounts waits for
// itself.
func tenantOf(workspace string) string {
	if workspace == repostore.DefaultWorkspace {
		return ""
	}
	return workspace
}

// connect makes a connection. It sends nothing.
func (m *Manager) connect(k key, rt route) (*connection, error) {
	cfg := atproto.Config{
		PDS: rt.pds, DID: rt.did, HTTP: m.HTTP, Keys: m.Keys, Budget: m.Budgets.For(rt.pds), Tenant: tenantOf(k.workspace), Clock: m.Clock,
	}
	if rt.credentials != "" {
		cfg.Auth = &rotating{
			provider: m.Credentials, workspace: k.workspace, name: rt.credentials,
			make: func(c credentials.Credentials) (atproto.Auth, error) {
				authCfg := cfg
				authCfg.Auth = nil
				auth, err := atproto.NewPasswordAuth(authCfg, c.Credentials)
				if err != nil {
					return nil, err
				}
				auth.Permit = func(ctx context.Context) error { return m.permit(ctx, k, rt, c) }
				return auth, nil
			},
		}
	}
	client, err := atproto.NewClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", rt.did, err)
	}
	source, release, err := m.sources.hold(rt.source)
	if err != nil {
		return nil, &sourceError{fmt.Errorf("event source of %s: %w", rt.pds, err)}
	}
	return &connection{route: rt, client: client, source: source, release: release}, nil
}

// reach makes r's connection that of a's route, and keeps it where it is that
// already.
func (m *Manager) reach(k key, r *repo, obj *v1alpha1.AtprotoRepo, a account) error {
	rt := routeOf(obj, a)
	r.mu.Lock()
	old := r.conn
	if old != nil && old.route == rt {
		r.connectErr = nil
		r.mu.Unlock()
		return nil
	}
	r.mu.Unlock()
	conn, err := m.connect(k, rt)
	if err != nil {
		r.mu.Lock()
		r.connectErr = err
		r.mu.Unlock()
		return err
	}
	r.mu.Lock()
	r.conn, r.resolved, r.connectErr = conn, false, nil
	r.authorized, r.authChecked = nil, time.Time{}
	r.swap, r.swapErr = remembered(obj, rt), nil
	r.mu.Unlock()
	if old != nil {
		old.release()
	}
	return nil
}

// remembered is the verdict on swapRecord that the status keeps, where it is of
// the same account and PDS.
func remembered(obj *v1alpha1.AtprotoRepo, rt route) verdict {
	if obj.Status.DID != rt.did || obj.Status.PDS != rt.pds {
		return open
	}
	return verdictOf(obj.Status.Conditions, v1alpha1.ConditionSwapSupported)
}

// mountWith gives the hub what obj asks for, where it differs from what the hub
// has.
func (m *Manager) mountWith(k key, r *repo, obj *v1alpha1.AtprotoRepo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := repostore.MountedRepo{
		Workspace: k.workspace, Name: k.name, UID: obj.UID, Repo: r.conn.client, Source: r.conn.source,
		Default: obj.Spec.Default, Access: r.granted(&obj.Spec),
		StaleReads: obj.Spec.StaleReads == v1alpha1.StaleReadsAllow,
	}
	want.Withheld = want.Access == repostore.AccessRead && obj.Spec.Access == v1alpha1.AccessReadWrite && obj.Spec.CredentialsRef != nil
	if obj.DeletionTimestamp != nil {
		want.Closing, want.Default = true, false // no record appears by itself any more
	}
	if want == r.mount {
		return
	}
	r.mount = want
	m.Hub.SetRepo(want)
}

// unmount takes the repository from the hub. Its connection stays.
func (m *Manager) unmount(k key, r *repo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mount = repostore.MountedRepo{}
	m.Hub.RemoveRepo(k.workspace, k.name)
}

// expect holds the place of a repository that isn't mounted, for reason; nil: it
// wasn't looked at yet.
func (m *Manager) expect(k key, r *repo, obj *v1alpha1.AtprotoRepo, reason error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mount.Repo != nil {
		return
	}
	a, _ := known(obj)
	if a.did == "" && r.conn != nil {
		a.did = r.conn.did
	}
	if a.did == "" || obj.Spec.Access == v1alpha1.AccessNone {
		m.Hub.RemoveRepo(k.workspace, k.name)
		return
	}
	if reason == nil {
		reason = r.resolveErr
	}
	text := "it was not looked at yet"
	if reason != nil {
		text = reason.Error()
	}
	m.Hub.ExpectRepo(repostore.ExpectedRepo{
		Workspace: k.workspace, Name: k.name, DID: a.did, Reason: text,
		Served:     (obj.Spec.Default || m.collected(k)) && obj.Status.IngestedRev != "" && obj.DeletionTimestamp == nil,
		StaleReads: obj.Spec.StaleReads == v1alpha1.StaleReadsAllow,
	})
}
