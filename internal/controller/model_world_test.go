package controller

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// world is an API server with the semantics that the controller depends on:
// resourceVersions, uids, finalizers, preconditions, applies that conflict. It keeps
// every version of everything, so that caches can be behind by any time.
type world struct {
	now      time.Time
	versions []version
	uids     int
	laws     *laws
	// full lets nobody create a ComputeContract; refusals is how often it was tried.
	full     bool
	refusals int
}

// version is all that there is at a time. The objects in it are never changed.
type version struct {
	deployments map[Key]*lifecycle.Deployment
	contracts   map[string]*v1alpha1.ComputeContract
	repo        *v1alpha1.AtprotoRepo
}

var (
	deploymentsResource = v1alpha1.SchemeGroupVersion.WithResource("infras").GroupResource()
	contractsResource   = v1alpha1.SchemeGroupVersion.WithResource("computecontracts").GroupResource()
	contractsKind       = v1alpha1.SchemeGroupVersion.WithKind(kindContract).GroupKind()
)

func newWorld(fail func(string, ...any)) *world {
	repo := &v1alpha1.AtprotoRepo{ObjectMeta: metav1.ObjectMeta{Name: "repo"}}
	repo.Status.Access = v1alpha1.AccessReadWrite
	w := &world{now: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}
	w.versions = []version{{map[Key]*lifecycle.Deployment{}, map[string]*v1alpha1.ComputeContract{}, repo}}
	w.laws = newLaws(w, fail)
	return w
}

func (w *world) at() version { return w.versions[len(w.versions)-1] }

func (w *world) rv() string { return fmt.Sprint(len(w.versions)) }

func (w *world) uid() types.UID {
	w.uids++
	return types.UID(fmt.Sprintf("uid-%d", w.uids))
}

// deployment of a uid; nil: it is gone.
func (w *world) deployment(uid types.UID) *lifecycle.Deployment {
	for _, d := range w.at().deployments {
		if d.UID == uid {
			return d
		}
	}
	return nil
}

func (w *world) putRepo(change func(*v1alpha1.AtprotoRepo)) {
	v := w.at()
	v.repo = v.repo.DeepCopy()
	change(v.repo)
	w.versions = append(w.versions, v)
}

// putDeployment changes or creates one. One that is being deleted and has no
// finalizer left goes.
func (w *world) putDeployment(d *lifecycle.Deployment) *lifecycle.Deployment {
	was, v := w.at(), w.at()
	v.deployments = maps.Clone(v.deployments)
	k := keyOfDeployment(d)
	d = copyDeployment(d)
	d.ResourceVersion = w.rv()
	v.deployments[k] = d
	gone := d.DeletionTimestamp != nil && len(d.Finalizers) == 0
	if gone {
		delete(v.deployments, k)
	}
	w.versions = append(w.versions, v)
	w.laws.deploymentWritten(was.deployments[k], d, gone)
	return d
}

func (w *world) deleteDeployment(k Key) {
	d := copyDeployment(w.at().deployments[k])
	if d.DeletionTimestamp == nil {
		d.DeletionTimestamp = w.time()
		d.Generation++
	}
	w.putDeployment(d)
}

func (w *world) time() *metav1.Time {
	t := metav1.NewTime(w.now)
	return &t
}

// putContract is putDeployment for a ComputeContract.
func (w *world) putContract(cc *v1alpha1.ComputeContract) {
	v := w.at()
	v.contracts = maps.Clone(v.contracts)
	cc = cc.DeepCopy()
	cc.ResourceVersion = w.rv()
	if lifecycle.Finished(cc) && cc.Status.FinishedAt == nil {
		cc.Status.FinishedAt = w.time()
	}
	v.contracts[cc.Name] = cc
	if cc.DeletionTimestamp != nil && len(cc.Finalizers) == 0 {
		delete(v.contracts, cc.Name)
		w.laws.contractGone(cc)
	}
	w.versions = append(w.versions, v)
}

func (w *world) deleteContract(cc *v1alpha1.ComputeContract) {
	cc = cc.DeepCopy()
	if cc.DeletionTimestamp == nil {
		cc.DeletionTimestamp = w.time()
	}
	w.putContract(cc)
}

// apply a ComputeContract as server-side apply does, without force.
func (w *world) apply(d *lifecycle.Deployment, a *lifecycle.Action) error {
	cc := w.at().contracts[a.Name]
	switch {
	case cc != nil && !d.Owns(cc):
		return apierrors.NewConflict(contractsResource, a.Name, errors.New("labels are another manager's"))
	case cc != nil && cc.Spec.UserData != a.Spec.UserData:
		return apierrors.NewInvalid(contractsKind, a.Name, nil)
	case cc != nil:
		return nil
	case w.full:
		w.refusals++
		return apierrors.NewForbidden(contractsResource, a.Name, fmt.Errorf("exceeded quota: used: bytes=%d", w.refusals))
	}
	yes := true
	cc = &v1alpha1.ComputeContract{Spec: *a.Spec}
	cc.Name, cc.UID, cc.Labels = a.Name, w.uid(), lifecycle.Labels(d)
	cc.Labels[v1alpha1.LabelContract] = a.Contract
	cc.Finalizers = []string{v1alpha1.FinalizerRelease}
	cc.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: d.Kind, Name: d.Name, UID: d.UID, Controller: &yes,
	}}
	cc.Status.Phase = v1alpha1.ComputePending
	w.laws.created(cc)
	w.putContract(cc)
	return nil
}

// names of the ComputeContracts, sorted.
func (v version) names() []string { return slices.Sorted(maps.Keys(v.contracts)) }

// keys of everything, sorted.
func (v version) keys() []Key {
	var out []Key
	for k := range v.deployments {
		out = append(out, k)
	}
	for name := range v.contracts {
		out = append(out, Key{kindContract, defaultWorkspace, name})
	}
	slices.SortFunc(out, func(a, b Key) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func copyDeployment(d *lifecycle.Deployment) *lifecycle.Deployment {
	out := lifecycle.FromEphemeralInfra(d.EphemeralInfra().DeepCopy())
	out.Kind = d.Kind
	return out
}
