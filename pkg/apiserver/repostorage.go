package apiserver

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/credentials"
	"socialweb.computer/infra-apiserver/internal/kcp/bindings"
	"socialweb.computer/infra-apiserver/internal/repos"
	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/internal/usage"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/record"
)

// repoStorage keeps the record-backed kinds in repositories, by a hub, and mounts
// the repositories that AtprotoRepos name.
type repoStorage struct {
	*repostore.Hub
	etcdLocker
	leader  leader
	etcd    *clientv3.Client
	options *RepoOptions
	host    *restclient.Config // of the host cluster; nil: there is none
	mappers map[schema.GroupResource]repostore.RecordMapper
	usage   *usage.Tracker
	endKCP  func() // closes the connections to a kcp; nil: there are none
}

var _ Storage = (*repoStorage)(nil)

// newRepoStorage uses etcd below prefix, and closes it at Close.
func newRepoStorage(etcd *clientv3.Client, prefix string, o *RepoOptions, host *restclient.Config, tracer trace.TracerProvider, limits usage.Limits) *repoStorage {
	replica := string(uuid.NewUUID())
	mappers := map[schema.GroupResource]repostore.RecordMapper{
		socialweb.Resource("infras"):          record.Infra(),
		socialweb.Resource("ephemeralinfras"): record.EphemeralInfra(),
	}
	var views []string
	for resource := range mappers {
		views = append(views, resource.Resource)
	}
	tracker := usage.New(usage.Config{Etcd: etcd, Prefix: prefix, Views: views, Limits: limits, Exempt: repostore.DefaultWorkspace})
	return &repoStorage{
		Hub:        repostore.NewHub(repostore.HubConfig{Etcd: etcd, Prefix: prefix, Replica: replica, LookRate: o.LookRate, Tracer: tracer, Room: tracker}),
		etcdLocker: etcdLocker{etcd, prefix},
		leader:     leader{etcd: etcd, key: prefix + "/elections/atprotorepos", replica: replica},
		etcd:       etcd, options: o, host: host,
		mappers: mappers,
		usage:   tracker,
	}
}

// Decorator implements Storage.
func (s *repoStorage) Decorator(resource schema.GroupResource) generic.StorageDecorator {
	s.usage.Add(resource.Resource)
	inner := s.PlainDecorator()
	if m := s.mappers[resource]; m != nil {
		inner = s.Hub.Decorator(m)
	}
	return withinQuota(inner, s.usage)
}

// Ready implements Storage.
func (s *repoStorage) Ready() error {
	if err := s.usage.Ready(); err != nil {
		return err
	}
	return s.Hub.Ready()
}

// Run implements Storage.
func (s *repoStorage) Run(ctx context.Context, loopback *restclient.Config) error {
	manager, watcher, err := s.manager(loopback)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.usage.Run(ctx) })
	g.Go(func() error { return s.Hub.Run(ctx) })
	g.Go(func() error { return s.leader.Run(ctx) })
	g.Go(func() error { return manager.Run(ctx) })
	if watcher != nil {
		g.Go(func() error {
			watcher.Run(ctx)
			return nil
		})
	}
	return g.Wait()
}

// Close implements Storage.
func (s *repoStorage) Close() error {
	if s.endKCP != nil {
		s.endKCP()
	}
	if err := s.etcd.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("etcd client: %w", err)
	}
	return nil
}

// manager mounts what AtprotoRepos name. The watcher tells it of workspaces that are gone;
// nil: none goes.
func (s *repoStorage) manager(loopback *restclient.Config) (m *repos.Manager, watcher *bindings.Watcher, err error) {
	forWorkspace := func(ws string) (versioned.Interface, error) {
		return versioned.NewForConfig(inWorkspace(loopback, ws))
	}
	all, err := forWorkspace(repostore.AllWorkspaces)
	if err != nil {
		return nil, nil, fmt.Errorf("loopback client: %w", err)
	}
	o := s.options
	kcp, err := o.KCPCredentials.client()
	if err != nil {
		return nil, nil, err
	}
	own, err := s.ownCredentials()
	if err != nil {
		return nil, nil, fmt.Errorf("credentials: %w", err)
	}
	config := repos.Config{Credentials: o.KCPCredentials.beside(own, kcp)}
	if kcp != nil {
		s.endKCP = kcp.CloseIdle
		watcher = o.KCPCredentials.watcher(kcp, func() []string { return m.Workspaces() })
		config.Workspace = watcher.State
	}
	client, dialer := atproto.NewHTTPClient(o.AllowPrivate), atproto.NewDialer(o.AllowPrivate)
	budgets := atproto.NewBudgets(atproto.BudgetOptions{Rate: o.RequestRate})
	ids, keys := o.Identities, o.Keys
	resolver := &atproto.DIDResolver{PLCURL: o.PLCURL, HTTP: client}
	if ids == nil {
		ids = resolver
	}
	if keys == nil {
		keys = atproto.NewKeys(resolver, nil)
	}
	var collections []string
	for _, m := range s.mappers {
		collections = append(collections, m.Collection())
	}
	config.Hub, config.All, config.For, config.Identities, config.Keys = s.Hub, all, forWorkspace, ids, keys
	config.HTTP, config.Budgets, config.Leading = client, budgets, s.leader.Leading
	config.NewSource = repos.NewEventSources(repos.EventOptions{
		Collections: collections, Jetstream: o.Jetstream, PollInterval: o.PollInterval, Leading: s.leader.Leading,
		Dialer: dialer, HTTP: client, Keys: keys, Budgets: budgets,
	})
	m = repos.New(config)
	return m, watcher, nil
}

// ownCredentials are those of the server's own cluster.
func (s *repoStorage) ownCredentials() (credentials.Provider, error) {
	switch {
	case s.options.CredentialsDir != "":
		return credentials.NewDirectory(s.options.CredentialsDir), nil
	case s.options.CredentialsNamespace == "":
		return credentials.None{}, nil
	case s.host == nil:
		return nil, errors.New("--credentials-namespace needs a host cluster: --kubeconfig, or a pod's own account")
	}
	client, err := kubernetes.NewForConfig(s.host)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return credentials.NewSecrets(client.CoreV1().Secrets(s.options.CredentialsNamespace)), nil
}

// inWorkspace is a config for the door of one workspace.
func inWorkspace(c *restclient.Config, ws string) *restclient.Config {
	c = restclient.CopyConfig(c)
	c.Host += clustersPrefix + ws
	return c
}
