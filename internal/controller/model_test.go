package controller

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// The names meet: (a, b-c) and (a-b, c) have the same one.
var (
	modelKeys = []Key{
		{lifecycle.KindInfra, defaultWorkspace, "a"}, {lifecycle.KindInfra, defaultWorkspace, "a-b"},
		{lifecycle.KindEphemeralInfra, defaultWorkspace, "a"},
	}
	modelContracts = []string{"c", "b-c"}
)

// model is two controllers at once on a world, with a user, a fulfiller, a clock and
// everything that goes wrong.
type model struct {
	*world
	controllers [2]*modelController
	history     []string
	// keys and contracts that the user uses: all, or one, which sees more then.
	keys      []Key
	contracts []string
}

// modelController is a controller with two workers.
type modelController struct {
	cache *laggingCache
	runs  []*modelRun
	// sees is what it knows of the workspace.
	sees lifecycle.Workspace
}

// modelRun is one reconcile, which stops before each call.
type modelRun struct {
	key  Key
	api  *steppedAPI
	next func() (string, bool)
	stop func()
}

func newModel(t *rapid.T) *model {
	m := &model{keys: modelKeys, contracts: modelContracts}
	if rapid.Bool().Draw(t, "narrow") {
		i := rapid.IntRange(0, len(modelKeys)-1).Draw(t, "key")
		m.keys, m.contracts = modelKeys[i:i+1], modelContracts[:1]
	}
	m.world = newWorld(func(format string, args ...any) {
		t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(m.history, "\n"))
	})
	for i := range m.controllers {
		m.controllers[i] = &modelController{cache: &laggingCache{world: m.world}}
	}
	return m
}

func (m *model) note(format string, args ...any) {
	m.history = append(m.history, fmt.Sprintf("%4d ", len(m.versions))+fmt.Sprintf(format, args...))
}

// modelClock is the world's.
type modelClock struct{ *world }

func (c modelClock) Now() time.Time                  { return c.now }
func (c modelClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// begin a reconcile: it stands before its first call then.
func (m *model) begin(c *modelController, k Key) *modelRun {
	r := &modelRun{key: k, api: &steppedAPI{world: m.world}}
	r.next, r.stop = iter.Pull(func(yield func(string) bool) {
		r.api.pause = yield
		worker := &reconciler{
			api: r.api, cache: c.cache, clock: modelClock{m.world},
			tell: func(context.Context, Key, *lifecycle.Deployment, *lifecycle.Deployment) {},
			workspaces: func(string) lifecycle.Workspace {
				r.api.saw = c.sees
				return c.sees
			},
		}
		_, _ = worker.reconcile(context.Background(), k)
	})
	return r
}

// advance lets a run make the call that it stands before; false: it has ended.
func (m *model) advance(who string, r *modelRun, f fate) bool {
	r.api.next = f
	call, more := r.next()
	if more {
		m.note("%s %s: next is %s", who, r.key, call)
	}
	return more
}

func (m *model) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"user":      m.user,
		"user2":     m.user,
		"delete":    m.userDeletes,
		"contract":  m.contract,
		"contract2": m.contract,
		"world":     m.change,
		"workspace": m.workspace,
		"lag":       m.lag,
		"run":       m.run,
		"run2":      m.run,
		"run3":      m.run,
		"step":      m.step,
		"step2":     m.step,
		"step3":     m.step,
		"crash":     m.crash,
		"calm":      m.calm,
	}
}

func pick[T any](t *rapid.T, label string, from []T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(t, label)]
}

var modelStates = []v1alpha1.ContractState{v1alpha1.ContractStaged, v1alpha1.ContractRequested, v1alpha1.ContractRequested, v1alpha1.ContractReleased}

// user creates a deployment, or edits it from either side.
func (m *model) user(t *rapid.T) {
	k, name, state := pick(t, "key", m.keys), pick(t, "contract", m.contracts), pick(t, "state", modelStates)
	how := rapid.IntRange(0, 5).Draw(t, "how")
	d := m.at().deployments[k]
	if d == nil {
		d = &lifecycle.Deployment{Kind: k.Kind}
		d.Name, d.UID, d.Generation = k.Name, m.uid(), 1
		if how%2 == 0 {
			d.Spec.Record = &v1alpha1.RecordBinding{RepoRef: v1alpha1.RepoReference{Name: "repo"}}
		}
		if k.Kind == lifecycle.KindEphemeralInfra {
			at := metav1.NewTime(m.now.Add(100 * time.Second))
			d.Status.ExpiresAt = &at
			if how > 3 {
				d.Spec.EndWhen = v1alpha1.EndDeadline
			}
		}
	}
	d = copyDeployment(d)
	i := slices.IndexFunc(d.Spec.Contracts, func(c v1alpha1.Contract) bool { return c.Name == name })
	switch {
	case i < 0:
		d.Spec.Contracts = append(d.Spec.Contracts, v1alpha1.Contract{Name: name, State: state})
	case how == 0:
		d.Spec.Contracts = slices.Delete(d.Spec.Contracts, i, i+1)
	case how == 1:
		d.Spec.Contracts[i].UserData += "x"
	default:
		d.Spec.Contracts[i].State = state
	}
	d.Generation++
	m.note("user: %s %s: %+v", k, name, d.Spec.Contracts)
	m.putDeployment(d)
}

// userDeletes a deployment. Where an action of the model has nothing to act on it is
// skipped, here and below: rapid draws another in its place, and no check is left out.
func (m *model) userDeletes(t *rapid.T) {
	k := pick(t, "key", m.keys)
	if m.at().deployments[k] == nil {
		t.Skip("no such deployment")
	}
	m.note("user deletes %s", k)
	m.deleteDeployment(k)
}

// contract is what the fulfiller, or a user, does with a ComputeContract.
func (m *model) contract(t *rapid.T) {
	names := m.at().names()
	if len(names) == 0 {
		t.Skip("no ComputeContract")
	}
	cc := m.at().contracts[pick(t, "contract", names)].DeepCopy()
	how := rapid.IntRange(0, 19).Draw(t, "how")
	m.note("ComputeContract %s %s: %d", cc.Name, cc.Status.Phase, how)
	switch {
	case how == 0: // by force
		m.laws.forced[ownedBy(cc)] = true
		cc.Finalizers = nil
		m.deleteContract(cc)
	case how == 1:
		m.deleteContract(cc)
	case how == 2:
		cc.Spec.Release = true
		m.putContract(cc)
	case lifecycle.Finished(cc):
		t.Skip("it is finished")
	case how < 5:
		cc.Status.Phase = v1alpha1.ComputeFailed
		m.putContract(cc)
	default:
		m.fulfil(cc)
	}
}

// fulfil takes a ComputeContract one phase on.
func (m *model) fulfil(cc *v1alpha1.ComputeContract) {
	cc = cc.DeepCopy()
	switch {
	case cc.Status.Phase == v1alpha1.ComputePending && cc.Spec.Release:
		return // the controller's to release
	case cc.Status.Phase == v1alpha1.ComputePending:
		cc.Status.Phase = v1alpha1.ComputeRequesting
	case cc.Status.Phase == v1alpha1.ComputeReleasing:
		cc.Status.Phase = v1alpha1.ComputeReleased
	case cc.Spec.Release:
		cc.Status.Phase = v1alpha1.ComputeReleasing
	case cc.Status.Phase == v1alpha1.ComputeRequesting:
		cc.Status.Phase = v1alpha1.ComputeHeld
	default:
		return
	}
	m.putContract(cc)
}

// change the world around: the time, the gate, a name that is taken, a view that is
// built again from its record.
func (m *model) change(t *rapid.T) {
	switch how := rapid.IntRange(0, 9).Draw(t, "how"); {
	case how < 5:
		m.now = m.now.Add(30 * time.Second)
	case how < 7:
		m.putRepo(func(r *v1alpha1.AtprotoRepo) {
			r.Status.Access = pick(t, "access", []v1alpha1.RepoAccess{v1alpha1.AccessRead, v1alpha1.AccessReadWrite})
		})
	case how == 7:
		name := "infra-a-b-c"
		if m.at().contracts[name] != nil {
			t.Skip("the name is taken already")
		}
		m.note("somebody takes %s", name)
		cc := &v1alpha1.ComputeContract{ObjectMeta: metav1.ObjectMeta{Name: name, UID: m.uid(), Finalizers: []string{v1alpha1.FinalizerRelease}}}
		cc.Status.Phase = v1alpha1.ComputePending
		m.putContract(cc)
	default:
		m.rebuild(t)
	}
}

// workspace goes or comes, as a controller sees it: the other may see something else.
func (m *model) workspace(t *rapid.T) {
	i := rapid.IntRange(0, 1).Draw(t, "controller")
	sees := pick(t, "sees", []lifecycle.Workspace{
		lifecycle.WorkspaceStays, lifecycle.WorkspaceUnknown, lifecycle.WorkspaceBound, lifecycle.WorkspaceBound, lifecycle.WorkspaceGone,
	})
	m.note("controller %d: workspace %d", i, sees)
	m.controllers[i].sees = sees
}

// rebuild the view of a deployment from its record: the private part is lost.
func (m *model) rebuild(t *rapid.T) {
	d := m.at().deployments[pick(t, "key", m.keys)]
	if d == nil || d.DeletionTimestamp != nil || d.Status.EndedAt != nil {
		t.Skip("nothing to build again")
	}
	m.note("%s is built again", d.Name)
	for _, c := range modelContracts {
		m.laws.forced[owned{d.UID, c}] = true
	}
	d = copyDeployment(d)
	d.Status.Requests, d.Status.Conditions, d.Finalizers = nil, nil, nil
	m.putDeployment(d)
}

func (m *model) lag(t *rapid.T) {
	c := pick(t, "controller", m.controllers[:]).cache
	last := len(m.versions) - 1
	for _, at := range []*int{&c.deploymentsAt, &c.contractsAt, &c.repoAt} {
		switch rapid.IntRange(0, 2).Draw(t, "how far") {
		case 0:
			*at = last
		case 1:
			*at = rapid.IntRange(*at, last).Draw(t, "version")
		}
	}
}

// run a reconcile from its begin to its end, often on fresh caches.
func (m *model) run(t *rapid.T) {
	i := rapid.IntRange(0, 1).Draw(t, "controller")
	c := m.controllers[i]
	if rapid.IntRange(0, 3).Draw(t, "fresh") > 0 {
		c.cache.catchUp()
	}
	keys := c.cache.keys()
	if len(keys) == 0 {
		t.Skip("nothing was seen")
	}
	who, bad := fmt.Sprintf("controller %d", i), rapid.IntRange(0, 3).Draw(t, "weather") == 0
	r, f := m.begin(c, pick(t, "key", keys)), works
	for m.advance(who, r, f) {
		if bad {
			f = m.fate(t, who)
		}
	}
}

// fate of the next call.
func (m *model) fate(t *rapid.T, who string) fate {
	f := pick(t, "fate", []fate{works, works, works, works, fails, lost, denied})
	if f != works {
		m.note("%s: the next call %s", who, []string{"", "fails", "is lost", "is denied"}[f])
	}
	return f
}

// step begins a reconcile, or takes one on by a call, which may fail.
func (m *model) step(t *rapid.T) {
	i := rapid.IntRange(0, 1).Draw(t, "controller")
	c := m.controllers[i]
	who := fmt.Sprintf("controller %d", i)
	n := rapid.IntRange(0, 1).Draw(t, "worker")
	if n >= len(c.runs) {
		keys := slices.DeleteFunc(c.cache.keys(), func(k Key) bool {
			return slices.ContainsFunc(c.runs, func(r *modelRun) bool { return r.key == k })
		})
		if len(keys) == 0 {
			t.Skip("nothing was seen that is not being reconciled")
		}
		r := m.begin(c, pick(t, "key", keys))
		if m.advance(who, r, works) {
			c.runs = append(c.runs, r)
		}
		return
	}
	if !m.advance(who, c.runs[n], m.fate(t, who)) {
		c.runs = slices.Delete(c.runs, n, n+1)
	}
}

// calm takes everything as far as it comes in some rounds, which no chance would.
func (m *model) calm(t *rapid.T) {
	for range rapid.IntRange(1, 6).Draw(t, "rounds") {
		m.round()
	}
}

// crash a controller. It starts again with caches of any time before.
func (m *model) crash(t *rapid.T) {
	i := rapid.IntRange(0, 1).Draw(t, "controller")
	m.note("controller %d crashes", i)
	m.controllers[i].end()
	c, last := m.controllers[i].cache, len(m.versions)-1
	c.deploymentsAt = rapid.IntRange(0, last).Draw(t, "deployments")
	c.contractsAt = rapid.IntRange(0, last).Draw(t, "contracts")
	c.repoAt = last
	m.controllers[i].sees = lifecycle.WorkspaceUnknown
}

func (c *modelController) end() {
	for _, r := range c.runs {
		r.stop()
	}
	c.runs = nil
}

// Whatever users, fulfillers, failures and two controllers do: the laws hold, and
// when the faults stop every deployment comes to what it asks for.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		t.Repeat(m.actions())
		for _, c := range m.controllers {
			c.end()
		}
		m.converge()
		m.settled()
		m.goes()
		m.note("all deadlines pass, in a workspace that is gone")
		m.now = m.now.Add(time.Hour)
		m.rest()
		m.settled()
		for k := range m.at().deployments {
			if k.Kind == lifecycle.KindEphemeralInfra {
				m.laws.fail("%s is there after its deadline", k)
			}
		}
	})
}
