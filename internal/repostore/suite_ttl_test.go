package repostore

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
)

// withoutTTL asks for no ttl in updates. RunTestGet asks for one, of an object
// that it then reads at once: what it tests is the Get.
type withoutTTL struct{ suiteStore }

func (s withoutTTL) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool, pre *storage.Preconditions, update storage.UpdateFunc, cached runtime.Object) error {
	return s.suiteStore.GuaranteedUpdate(ctx, key, out, ignoreNotFound, pre, func(in runtime.Object, res storage.ResponseMeta) (runtime.Object, *uint64, error) {
		obj, _, err := update(in, res)
		return obj, nil, err
	}, cached)
}

// TestTTLIsRefused stands for the cases of the suite that need a ttl: 422, and
// nothing is written, neither here nor there.
func TestTTLIsRefused(t *testing.T) {
	e := newSuiteEnv(t, suiteOptions{}, false)
	ctx, s, key := t.Context(), e.under(), "/pods/test-ns/foo"
	pod := func() *example.Pod {
		return &example.Pod{ObjectMeta: metav1.ObjectMeta{Name: "foo", Namespace: "test-ns"}}
	}
	update := func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		ttl, out := uint64(1), pod()
		out.ResourceVersion = in.(*example.Pod).ResourceVersion
		out.Labels = map[string]string{"new": "label"}
		return out, &ttl, nil
	}
	refused := func(what string, err error) {
		t.Helper()
		var status *apierrors.StatusError
		if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.ErrStatus.Details.Causes[0].Message != ErrTTL.Error() {
			t.Errorf("%s with a ttl: %v, want 422 with %v", what, err, ErrTTL)
		}
	}

	refused("create", s.Create(ctx, key, pod(), &example.Pod{}, 1))
	refused("create by update", s.GuaranteedUpdate(ctx, key, &example.Pod{}, true, nil, update, nil))
	if err := s.Get(ctx, key, storage.GetOptions{}, &example.Pod{}); !storage.IsNotFound(err) {
		t.Errorf("a refused create left something behind: %v", err)
	}

	before := &example.Pod{}
	if err := s.Create(ctx, key, pod(), before, 0); err != nil {
		t.Fatal(err)
	}
	refused("update", s.GuaranteedUpdate(ctx, key, &example.Pod{}, false, nil, update, nil))
	after := &example.Pod{}
	if err := s.Get(ctx, key, storage.GetOptions{}, after); err != nil || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("a refused update changed the object: %v, %s → %s", err, before.ResourceVersion, after.ResourceVersion)
	}
}
