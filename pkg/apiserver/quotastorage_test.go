package apiserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	testclock "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/internal/usage"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// calls stands for a storage: it answers as it is told.
type calls struct {
	storage.Interface
	made    int
	deleted bool
}

func (*calls) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

func (c *calls) Create(_ context.Context, _ string, obj, out runtime.Object, _ uint64) error {
	c.made++
	obj.(*socialweb.Infra).DeepCopyInto(out.(*socialweb.Infra))
	return nil
}

func (c *calls) Delete(context.Context, string, runtime.Object, *storage.Preconditions, storage.ValidateObjectFunc, runtime.Object, storage.DeleteOptions) error {
	c.deleted = true
	return nil
}

// bounded is a storage within quotas whose tracker has counted nothing.
func bounded(limits usage.Limits, counted bool) (*quotaStorage, *calls, *testclock.FakeClock) {
	c, clock := &calls{}, testclock.NewFakeClock(time.Now())
	u := usage.New(usage.Config{Prefix: "/test", Limits: limits, Exempt: repostore.DefaultWorkspace, Clock: clock})
	if !counted {
		u.Add("infras") // and it is never read
	}
	return &quotaStorage{Interface: c, usage: u, codec: Codecs.LegacyCodec(v1alpha1.SchemeGroupVersion), resource: socialweb.Resource("infras")}, c, clock
}

// ofRequest is the context of a user's request.
func ofRequest(t *testing.T, ws, name, verb, subresource string) context.Context {
	t.Helper()
	ctx := genericapirequest.WithRequestInfo(repostore.WithWorkspace(t.Context(), ws), &genericapirequest.RequestInfo{Verb: verb, Subresource: subresource})
	return genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: name, Groups: []string{user.SystemPrivilegedGroup}})
}

// TestNotCounted: before the first count users are told to try again, and the server
// itself, the default workspace and deletions don't wait.
func TestNotCounted(t *testing.T) {
	t.Parallel()
	s, c, clock := bounded(usage.Limits{Objects: 5}, false)
	infra := func() *socialweb.Infra { return &socialweb.Infra{ObjectMeta: metav1.ObjectMeta{Name: "a"}} }
	create := func(ctx context.Context) error {
		return s.Create(ctx, "/infras/one/a", infra(), &socialweb.Infra{}, 0)
	}
	errs := make(chan error, 1)
	go func() { errs <- create(ofRequest(t, "one", "alice", "create", "")) }()
	for !clock.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	clock.Step(time.Minute)
	err := <-errs
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsServiceUnavailable(err) || status.Status().Details.RetryAfterSeconds < 1 || c.made != 0 {
		t.Errorf("%v, %d made", err, c.made)
	}
	for name, ctx := range map[string]context.Context{
		"the server itself":     ofRequest(t, "one", user.APIServerUser, "create", ""),
		"the default workspace": ofRequest(t, "default", "alice", "create", ""),
		"no request":            t.Context(),
	} {
		if err := create(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Delete(ofRequest(t, "one", "alice", "delete", ""), "/infras/one/a", &socialweb.Infra{}, nil, nil, nil, storage.DeleteOptions{}); err != nil || !c.deleted {
		t.Errorf("a deletion: %v", err)
	}
}

// TestWhatGrows: of updates those are bounded that make an object larger, by a spec or
// by metadata, or by more field managers than those of a few writes.
func TestWhatGrows(t *testing.T) {
	t.Parallel()
	s, _, _ := bounded(usage.Limits{Bytes: 1}, true)
	old := &socialweb.Infra{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "9", Finalizers: []string{"example.org/f"}}}
	old.Spec.Description, old.Spec.Record = "before", &socialweb.RecordBinding{DeletionPolicy: socialweb.DeletionDelete}
	old.Spec.Contracts = []socialweb.Contract{{Name: "web", State: socialweb.ContractStaged}}
	for name, c := range map[string]struct {
		verb, subresource string
		change            func(*socialweb.Infra)
		grows             bool
	}{
		"a longer description":  {"update", "", func(i *socialweb.Infra) { i.Spec.Description = "afterwards" }, true},
		"a label":               {"patch", "", func(i *socialweb.Infra) { i.Labels = map[string]string{"a": "b"} }, true},
		"a shorter description": {"update", "", func(i *socialweb.Infra) { i.Spec.Description = "" }, false},
		"the same":              {"update", "", func(*socialweb.Infra) {}, false},
		"a status":              {"patch", "status", func(i *socialweb.Infra) { i.Status.Phase = "deployed" }, false},
		"a deletion":            {"delete", "", func(i *socialweb.Infra) { i.Finalizers = append(i.Finalizers, "foregroundDeletion") }, false},
		"a deletion of many":    {"deletecollection", "", func(i *socialweb.Infra) { i.DeletionTimestamp = &metav1.Time{} }, false},
		"one that goes":         {"update", "", func(i *socialweb.Infra) { i.DeletionTimestamp, i.Spec.Description = &metav1.Time{}, "afterwards" }, true},
		"the end of one that goes": {"patch", "", func(i *socialweb.Infra) {
			i.DeletionTimestamp, i.Finalizers, i.ManagedFields = &metav1.Time{}, nil, managers("x", strings.Repeat("y", freeManagers))
		}, false},
		"a longer one that is let go": {"patch", "", func(i *socialweb.Infra) {
			i.DeletionTimestamp, i.Finalizers, i.Spec.Description = &metav1.Time{}, nil, strings.Repeat("y", 4000)
		}, true},
		"the end of a finalizer":        {"patch", "", func(i *socialweb.Infra) { i.Finalizers = nil; i.ManagedFields = managers("x") }, false},
		"another field manager":         {"patch", "", func(i *socialweb.Infra) { i.ManagedFields = managers("x", "y") }, false},
		"managers of a thousand fields": {"patch", "", func(i *socialweb.Infra) { i.ManagedFields = managers("x", strings.Repeat("y", freeManagers)) }, true},
		"a longer version":              {"update", "", func(i *socialweb.Infra) { i.ResourceVersion, i.Generation = "1000", 1000 }, false},
		"the controller's finalizer": {"patch", "", func(i *socialweb.Infra) {
			i.Finalizers, i.ManagedFields = append(i.Finalizers, socialweb.FinalizerRelease), managers("x")
		}, false},
		"the controller's finalizer, twice": {"update", "", func(i *socialweb.Infra) {
			i.Finalizers = append(i.Finalizers, socialweb.FinalizerRelease, socialweb.FinalizerRelease)
		}, true},
		"what kcp release notes": {"patch", "", func(i *socialweb.Infra) {
			i.Annotations = map[string]string{socialweb.AnnotationReleasing: "true"}
		}, false},
		"more than kcp release notes": {"patch", "", func(i *socialweb.Infra) {
			i.Annotations = map[string]string{socialweb.AnnotationReleasing: "true " + strings.Repeat("x", 1000)}
		}, true},
		"another finalizer":   {"patch", "", func(i *socialweb.Infra) { i.Finalizers = append(i.Finalizers, "example.org/g") }, true},
		"a release":           {"patch", "", func(i *socialweb.Infra) { i.Spec.Contracts[0].State = socialweb.ContractReleased }, false},
		"another contract":    {"patch", "", func(i *socialweb.Infra) { i.Spec.Contracts = append(i.Spec.Contracts, i.Spec.Contracts[0]) }, true},
		"a record that stays": {"patch", "", func(i *socialweb.Infra) { i.Spec.Record.DeletionPolicy = socialweb.DeletionRetain }, false},
		"another record":      {"patch", "", func(i *socialweb.Infra) { i.Spec.Record.URI = "at://did:web:a.example/b/c" }, true},
	} {
		grows, err := s.growth(ofRequest(t, "one", "alice", c.verb, c.subresource), old)
		if err != nil {
			t.Fatal(err)
		}
		now := old.DeepCopy()
		c.change(now)
		if more, err := grows(now); err != nil || (more > 0) != c.grows {
			t.Errorf("%s: %d more, %v", name, more, err)
		}
	}
}

// TestWhatBringsToAnEnd: what keeps a repository's records from running, or releases a
// workspace, makes no object larger, whichever kind it is of.
func TestWhatBringsToAnEnd(t *testing.T) {
	t.Parallel()
	s, _, _ := bounded(usage.Limits{Bytes: 1}, true)
	named := metav1.ObjectMeta{Name: "a", ResourceVersion: "9", Annotations: map[string]string{"a": "b"}}
	releasing := metav1.ObjectMeta{Name: "a", ResourceVersion: "9", Annotations: map[string]string{"a": "b", socialweb.AnnotationReleasing: "true"}}
	contracts := []socialweb.Contract{{Name: "web"}}
	released := []socialweb.Contract{{Name: "web", State: socialweb.ContractReleased}}
	for what, c := range map[string]struct {
		was, is runtime.Object
		grows   bool
	}{
		"kcp release": {
			&socialweb.AtprotoRepo{ObjectMeta: named, Spec: socialweb.AtprotoRepoSpec{StaleReads: socialweb.StaleReadsDeny}},
			&socialweb.AtprotoRepo{ObjectMeta: releasing, Spec: socialweb.AtprotoRepoSpec{StaleReads: socialweb.StaleReadsAllow}}, false,
		},
		"access None": {
			&socialweb.AtprotoRepo{ObjectMeta: named, Spec: socialweb.AtprotoRepoSpec{Default: true}},
			&socialweb.AtprotoRepo{ObjectMeta: named, Spec: socialweb.AtprotoRepoSpec{Access: socialweb.AccessNone, Execution: socialweb.ExecutionObserveOnly}}, false,
		},
		"another PDS": {
			&socialweb.AtprotoRepo{ObjectMeta: named}, &socialweb.AtprotoRepo{ObjectMeta: named, Spec: socialweb.AtprotoRepoSpec{PDS: "https://a.example"}}, true,
		},
		"a collection that is observed": {
			&socialweb.InfraCollection{ObjectMeta: named}, &socialweb.InfraCollection{ObjectMeta: named, Spec: socialweb.InfraCollectionSpec{Execution: socialweb.ExecutionObserveOnly}}, false,
		},
		"the other kind of collection": {
			&socialweb.EphemeralInfraCollection{ObjectMeta: named},
			&socialweb.EphemeralInfraCollection{ObjectMeta: named, Spec: socialweb.InfraCollectionSpec{Execution: socialweb.ExecutionObserveOnly}}, false,
		},
		"a release of an EphemeralInfra": {
			&socialweb.EphemeralInfra{ObjectMeta: named, Spec: socialweb.EphemeralInfraSpec{InfraSpec: socialweb.InfraSpec{Contracts: contracts}}},
			&socialweb.EphemeralInfra{ObjectMeta: named, Spec: socialweb.EphemeralInfraSpec{InfraSpec: socialweb.InfraSpec{Contracts: released}}}, false,
		},
		"a release of a ComputeContract": {
			&socialweb.ComputeContract{ObjectMeta: named}, &socialweb.ComputeContract{ObjectMeta: named, Spec: socialweb.ComputeContractSpec{Release: true}}, false,
		},
		"another label of a ComputeContract": {
			&socialweb.ComputeContract{ObjectMeta: named}, &socialweb.ComputeContract{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: named.Annotations, Labels: map[string]string{"a": "b"}}}, true,
		},
	} {
		grows, err := s.growth(ofRequest(t, "one", "alice", "patch", ""), c.was)
		if err != nil {
			t.Fatal(err)
		}
		if more, err := grows(c.is); err != nil || (more > 0) != c.grows {
			t.Errorf("%s: %d more, %v", what, more, err)
		}
	}
}

func managers(names ...string) (out []metav1.ManagedFieldsEntry) {
	for _, n := range names {
		out = append(out, metav1.ManagedFieldsEntry{Manager: n, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)})
	}
	return out
}

// TestRefusals: what a client is told, and that its remedy names the flag.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s, _, _ := bounded(usage.Limits{}, true)
	err := s.refused("a", fmt.Errorf("wrapped: %w", &usage.ExceededError{Workspace: "one", Limit: usage.Bytes, Requested: 7, Used: 8, Max: 9}))
	want := `infras.socialweb.computer "a" is forbidden: exceeded quota: workspace one, requested: bytes=7, used: bytes=8, limited: bytes=9; `
	if !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "--workspace-max-bytes") {
		t.Errorf("%v", err)
	}
	if other := errors.New("other"); !errors.Is(s.refused("a", other), other) || s.refused("a", nil) != nil {
		t.Error("another error is changed")
	}
}
