package apiserver

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	testclock "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/internal/usage"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// empty is an etcd that has nothing.
type empty struct {
	clientv3.KV
	clientv3.Watcher
}

func (empty) Get(context.Context, string, ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return &clientv3.GetResponse{Header: &etcdserverpb.ResponseHeader{Revision: 1}}, nil
}

func (empty) Watch(ctx context.Context, _ string, _ ...clientv3.OpOption) clientv3.WatchChan {
	c := make(chan clientv3.WatchResponse)
	context.AfterFunc(ctx, func() { close(c) })
	return c
}

// slow is a storage in which something happens while an object is written.
type slow struct {
	calls
	meanwhile func()
}

func (s *slow) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	s.meanwhile()
	return s.calls.Create(ctx, key, obj, out, ttl)
}

func (s *slow) GuaranteedUpdate(_ context.Context, _ string, _ runtime.Object, _ bool, _ *storage.Preconditions, try storage.UpdateFunc, cached runtime.Object) error {
	_, _, err := try(cached, storage.ResponseMeta{})
	if err == nil {
		s.meanwhile()
	}
	return err
}

// slowly is a slow storage within quotas, in which nothing is yet.
func slowly(t *testing.T, limits usage.Limits) (*quotaStorage, *slow, *testclock.FakeClock) {
	t.Helper()
	inner, clock := &slow{}, testclock.NewFakeClock(time.Now())
	u := usage.New(usage.Config{Etcd: &clientv3.Client{KV: empty{}, Watcher: empty{}}, Prefix: "/test", Limits: limits, Exempt: repostore.DefaultWorkspace, Clock: clock})
	u.Add("infras")
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		_ = u.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	for u.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	return &quotaStorage{Interface: inner, usage: u, codec: Codecs.LegacyCodec(v1alpha1.SchemeGroupVersion), resource: socialweb.Resource("infras")}, inner, clock
}

// TestBytesAtOnce: writes that are under way at once have together what one of them
// may have, however far from the limit they begin.
func TestBytesAtOnce(t *testing.T) {
	t.Parallel()
	infra := func(version, description string) *socialweb.Infra {
		return &socialweb.Infra{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version}, Spec: socialweb.InfraSpec{Description: description}}
	}
	large := strings.Repeat("x", 1<<20)
	for verb, write := range map[string]func(context.Context, *quotaStorage, string) error{
		"create": func(ctx context.Context, s *quotaStorage, key string) error {
			return s.Create(ctx, key, infra("", large), &socialweb.Infra{}, 0)
		},
		"update": func(ctx context.Context, s *quotaStorage, key string) error {
			return s.GuaranteedUpdate(ctx, key, &socialweb.Infra{}, false, nil, func(runtime.Object, storage.ResponseMeta) (runtime.Object, *uint64, error) {
				return infra("9", large), nil, nil
			}, infra("9", ""))
		},
	} {
		s, inner, _ := slowly(t, usage.Limits{Bytes: 5 << 20})
		const more = 10
		under := 0
		var refused error
		inner.meanwhile = func() {
			if under++; under > more {
				return
			}
			if err := write(ofRequest(t, "one", "alice", verb, ""), s, "/infras/one/"+strings.Repeat("a", under)); err != nil {
				refused = err
			}
		}
		inner.meanwhile()
		if under != 5 || !apierrors.IsForbidden(refused) {
			t.Errorf("%s: %d of 1 MiB each at once, within 5 MiB: %v", verb, under-1, refused)
		}
	}
}

// TestPanicOfStorage: the room of a write that ended in a panic is free after a while.
func TestPanicOfStorage(t *testing.T) {
	t.Parallel()
	s, inner, clock := slowly(t, usage.Limits{Objects: 1})
	inner.meanwhile = func() { panic("a fault") }
	create := func(name string) error {
		return s.Create(ofRequest(t, "one", "alice", "create", ""), "/infras/one/"+name, &socialweb.Infra{ObjectMeta: metav1.ObjectMeta{Name: name}}, &socialweb.Infra{}, 0)
	}
	func() {
		defer func() { _ = recover() }()
		t.Error(create("a"))
	}()
	inner.meanwhile = func() {}
	clock.Step(time.Minute)
	if err := create("b"); err != nil {
		t.Error(err)
	}
}
