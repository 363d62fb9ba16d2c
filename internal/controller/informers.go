package controller

import (
	"context"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/informers/externalversions"
)

// Indexes of the informers.
const (
	indexOwner = "owner" // ComputeContracts by the uid of their deployment
	indexRepo  = "repo"  // deployments by workspace/AtprotoRepo
)

// informers implement Cache with the generated informers.
type informers struct {
	deployments, contracts externalversions.SharedInformerFactory

	infras, ephemerals       cache.SharedIndexInformer
	computeContracts         cache.SharedIndexInformer
	repos                    cache.SharedIndexInformer
	collections, ephemeralCs cache.SharedIndexInformer
}

var _ Cache = (*informers)(nil)

func newInformers(deployments, contracts *clients) (*informers, error) {
	seen, err := deployments.seeing()
	if err != nil {
		return nil, err
	}
	i := &informers{deployments: externalversions.NewSharedInformerFactoryWithOptions(seen, 0, informerOptions()...)}
	i.contracts = i.deployments
	if contracts != deployments {
		if seen, err = contracts.seeing(); err != nil {
			return nil, err
		}
		i.contracts = externalversions.NewSharedInformerFactoryWithOptions(seen, 0, informerOptions()...)
	}
	ours := i.deployments.Socialweb().V1alpha1()
	i.infras, i.ephemerals = ours.Infras().Informer(), ours.EphemeralInfras().Informer()
	i.repos = ours.AtprotoRepos().Informer()
	i.collections, i.ephemeralCs = ours.InfraCollections().Informer(), ours.EphemeralInfraCollections().Informer()
	i.computeContracts = i.contracts.Socialweb().V1alpha1().ComputeContracts().Informer()
	for _, informer := range i.all() {
		if err := informer.SetWatchErrorHandlerWithContext(watchFailed); err != nil {
			return nil, fmt.Errorf("informer: %w", err)
		}
	}
	for _, informer := range []cache.SharedIndexInformer{i.infras, i.ephemerals} {
		if err := informer.AddIndexers(cache.Indexers{indexRepo: byRepo}); err != nil {
			return nil, fmt.Errorf("index: %w", err)
		}
	}
	if err := i.computeContracts.AddIndexers(cache.Indexers{indexOwner: byOwner}); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return i, nil
}

func (i *informers) all() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{i.infras, i.ephemerals, i.computeContracts, i.repos, i.collections, i.ephemeralCs}
}

// watchFailed tells of a list or a watch that has ended and will be tried again: an
// outage, which is no fault of ours, or our own end.
func watchFailed(ctx context.Context, _ *cache.Reflector, err error) {
	if ctx.Err() == nil && !errors.Is(err, io.EOF) {
		klog.FromContext(ctx).Info("Not watching, will try again", "err", err)
	}
}

// informerOptions make informers list from the server's cache, also after a watch
// was too old to go on, and keep no managed fields.
func informerOptions() []externalversions.SharedInformerOption {
	return []externalversions.SharedInformerOption{
		externalversions.WithTweakListOptions(func(o *metav1.ListOptions) {
			if o.ResourceVersion == "" {
				o.ResourceVersion = "0"
			}
		}),
		externalversions.WithTransform(withoutManagedFields),
	}
}

func withoutManagedFields(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return o, nil
}

// run the informers until ctx ends. The caller must call wait then.
func (i *informers) run(ctx context.Context) (wait func()) {
	i.deployments.StartWithContext(ctx)
	i.contracts.StartWithContext(ctx)
	return func() {
		i.deployments.Shutdown()
		i.contracts.Shutdown()
	}
}

// synced returns when everything was seen once, or ctx has ended.
func (i *informers) synced(ctx context.Context) bool {
	var checkers []cache.DoneChecker
	for _, informer := range i.all() {
		checkers = append(checkers, informer.HasSyncedChecker())
	}
	return cache.WaitFor(ctx, "", checkers...)
}

// Deployment implements Cache.
func (i *informers) Deployment(k Key) *lifecycle.Deployment {
	if k.Kind == lifecycle.KindEphemeralInfra {
		if o := get[*v1alpha1.EphemeralInfra](i.ephemerals, k.cacheKey()); o != nil {
			return deploymentOf(o)
		}
		return nil
	}
	if o := get[*v1alpha1.Infra](i.infras, k.cacheKey()); o != nil {
		return deploymentOf(o)
	}
	return nil
}

// deploymentOf an object of an informer.
func deploymentOf(o any) *lifecycle.Deployment {
	var d *lifecycle.Deployment
	switch o := o.(type) {
	case *v1alpha1.Infra:
		d = lifecycle.FromInfra(o)
	case *v1alpha1.EphemeralInfra:
		d = lifecycle.FromEphemeralInfra(o)
	}
	d.ObjectMeta = unplaced(d.ObjectMeta)
	return d
}

// Contract implements Cache.
func (i *informers) Contract(k Key) *v1alpha1.ComputeContract {
	return contractOf(get[*v1alpha1.ComputeContract](i.computeContracts, k.cacheKey()))
}

func contractOf(o *v1alpha1.ComputeContract) *v1alpha1.ComputeContract {
	if o == nil {
		return nil
	}
	cc := *o
	cc.ObjectMeta = unplaced(cc.ObjectMeta)
	return &cc
}

// ContractsOf implements Cache.
func (i *informers) ContractsOf(owner types.UID) []*v1alpha1.ComputeContract {
	objs, err := i.computeContracts.GetIndexer().ByIndex(indexOwner, string(owner))
	if err != nil {
		return nil // there is such an index
	}
	out := make([]*v1alpha1.ComputeContract, 0, len(objs))
	for _, o := range objs {
		out = append(out, contractOf(o.(*v1alpha1.ComputeContract)))
	}
	return out
}

// Repo implements Cache.
func (i *informers) Repo(workspace, name string) *v1alpha1.AtprotoRepo {
	return get[*v1alpha1.AtprotoRepo](i.repos, workspace+"/"+name)
}

// Collection implements Cache.
func (i *informers) Collection(kind, workspace, name string) *lifecycle.Collection {
	if kind == lifecycle.KindEphemeralInfra {
		if o := get[*v1alpha1.EphemeralInfraCollection](i.ephemeralCs, workspace+"/"+name); o != nil {
			return &lifecycle.Collection{Name: name, Repo: o.Spec.RepoRef.Name, Execution: o.Spec.Execution, Granted: o.Status.ExecuteGranted}
		}
		return nil
	}
	if o := get[*v1alpha1.InfraCollection](i.collections, workspace+"/"+name); o != nil {
		return &lifecycle.Collection{Name: name, Repo: o.Spec.RepoRef.Name, Execution: o.Spec.Execution, Granted: o.Status.ExecuteGranted}
	}
	return nil
}

// get an object of a cache; nil: it has none.
func get[T any](informer cache.SharedIndexInformer, key string) (none T) {
	o, ok, err := informer.GetIndexer().GetByKey(key)
	if err != nil || !ok {
		return none
	}
	return o.(T)
}

func byOwner(o any) ([]string, error) {
	if uid := lifecycle.HolderUID(o.(*v1alpha1.ComputeContract)); uid != "" {
		return []string{string(uid)}, nil
	}
	return nil, nil
}

func byRepo(o any) ([]string, error) {
	d := deploymentOf(o)
	if d.Spec.Record == nil {
		return nil, nil
	}
	return []string{workspaceOf(d) + "/" + d.Spec.Record.RepoRef.Name}, nil
}
