package servingcert

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/internal/certpair"
)

const apiService = "v1alpha1.socialweb.computer"

// cluster is a fake one with an APIService, in which a write loses to a faster one.
type cluster struct {
	client  *fake.Clientset
	dynamic *dynamicfake.FakeDynamicClient
	clock   *testingclock.FakeClock
	patches atomic.Int64
	watched chan struct{} // closed once somebody watches Secrets
	mu      sync.Mutex    // guards writes, one at a time
	version int
}

func newCluster(t *testing.T, apiServices ...runtime.Object) *cluster {
	t.Helper()
	c := &cluster{
		client: fake.NewClientset(), clock: testingclock.NewFakeClock(epoch), watched: make(chan struct{}),
		dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{APIServices: "APIServiceList"}, apiServices...),
	}
	check := func(action clienttesting.Action) (bool, runtime.Object, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		secret := action.(clienttesting.CreateAction).GetObject().(*corev1.Secret)
		if _, updating := action.(clienttesting.UpdateActionImpl); updating {
			now, err := c.client.Tracker().Get(action.GetResource(), secret.Namespace, secret.Name)
			if err == nil && now.(*corev1.Secret).ResourceVersion != secret.ResourceVersion {
				return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), secret.Name, errors.New("others were faster"))
			}
		}
		c.version++
		secret.ResourceVersion = strconv.Itoa(c.version)
		var err error
		if action.GetVerb() == "create" {
			err = c.client.Tracker().Create(action.GetResource(), secret, secret.Namespace)
		} else {
			err = c.client.Tracker().Update(action.GetResource(), secret, secret.Namespace)
		}
		return true, secret, err
	}
	c.client.PrependReactor("create", "secrets", check)
	c.client.PrependReactor("update", "secrets", check)
	c.dynamic.PrependReactor("patch", "apiservices", func(clienttesting.Action) (bool, runtime.Object, error) {
		c.patches.Add(1)
		return false, nil, nil
	})
	tell := sync.OnceFunc(func() { close(c.watched) })
	c.client.PrependWatchReactor("secrets", func(action clienttesting.Action) (bool, watch.Interface, error) {
		defer tell()
		w, err := c.client.Tracker().Watch(action.GetResource(), action.GetNamespace(), action.(clienttesting.WatchActionImpl).ListOptions)
		return true, w, err
	})
	return c
}

// known waits until the Secret is watched, and lets whoever watches know it: unlike a
// server, the fake tells nothing of what happened between a list and the watch after it.
func (c *cluster) known(t *testing.T) {
	t.Helper()
	<-c.watched
	s := c.secret(t).DeepCopy()
	s.Labels = map[string]string{"known": "yes"}
	if _, err := c.client.CoreV1().Secrets("infra").Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// newAPIService is one of a Service, unless its labels say that it is of CRDs.
func newAPIService(labels map[string]string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": apiService},
		"spec":     map[string]any{"service": map[string]any{"name": "infra-apiserver", "namespace": "infra"}},
	}}
	u.SetLabels(labels)
	return u
}

// replica runs a Rotator until the test, or the returned function, ends it.
func (c *cluster) replica(t *testing.T) (r *Rotator, stop func()) {
	t.Helper()
	r, err := New(Config{
		Client: c.client, Namespace: "infra", Name: "serving", DNSNames: names, Clock: c.clock,
		APIServices: c.dynamic.Resource(APIServices), APIService: apiService,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return r, stop
}

func (c *cluster) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	s, err := c.client.CoreV1().Secrets("infra").Get(t.Context(), "serving", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (c *cluster) bundle(t *testing.T) string {
	t.Helper()
	u, err := c.dynamic.Resource(APIServices).Get(t.Context(), apiService, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	encoded, _, _ := unstructured.NestedString(u.Object, "spec", "caBundle")
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// settled waits until every replica serves what the Secret holds, differs from
// before, and the APIService trusts it.
func (c *cluster) settled(t *testing.T, before string, replicas ...*Rotator) (served string) {
	t.Helper()
	eventually(t, func() (ok bool) {
		served, ok = c.served(t, before, replicas)
		return ok
	})
	return served
}

// renewed lets d go by, and then time, until it is settled: a replica that was looking
// just then looks again a while later.
func (c *cluster) renewed(t *testing.T, before string, d time.Duration, replicas ...*Rotator) (served string) {
	t.Helper()
	c.pass(t, d, len(replicas))
	eventually(t, func() (ok bool) {
		if served, ok = c.served(t, before, replicas); !ok {
			c.clock.Step(time.Second)
		}
		return ok
	})
	return served
}

// served is what settled waits for; false: not yet.
func (c *cluster) served(t *testing.T, before string, replicas []*Rotator) (string, bool) {
	t.Helper()
	s, err := c.client.CoreV1().Secrets("infra").Get(t.Context(), "serving", metav1.GetOptions{})
	if err != nil || c.bundle(t) != string(s.Data[Bundle]) {
		return "", false
	}
	served := string(s.Data[LeafCert])
	return served, served != before && !slices.ContainsFunc(replicas, func(r *Rotator) bool {
		cert, _ := r.CurrentCertKeyContent()
		return string(cert) != served || r.Ready() != nil
	})
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it didn't come")
		}
	}
}

// pass lets time go by, for loops that wait.
func (c *cluster) pass(t *testing.T, d time.Duration, waiting int) {
	t.Helper()
	eventually(t, func() bool { return c.clock.Waiters() >= waiting })
	c.clock.Step(d)
}

// Replicas that start at once share one certificate, and one renews it for all; the
// APIService is written only when it differs.
func TestReplicasShareOneSecret(t *testing.T) {
	c := newCluster(t, newAPIService(nil))
	var replicas []*Rotator
	for range 3 {
		r, _ := c.replica(t)
		replicas = append(replicas, r)
	}
	first := c.settled(t, "", replicas...)
	if n := c.patches.Load(); n < 1 || n > 3 {
		t.Errorf("the APIService was written %d times", n)
	}
	n := c.patches.Load()
	second := c.renewed(t, first, leafLifetime-leafRenewal+day, replicas...)
	if c.patches.Load() != n {
		t.Error("the APIService was written for a new leaf of the same authority")
	}
	third := c.renewed(t, second, authorityLifetime, replicas...)
	if len(decode(c.secret(t)).trusted) != 1 || third == first {
		t.Error("an authority that expired is trusted")
	}
}

// A bundle that somebody reset comes back, and so does a Secret that somebody
// deleted, with another authority.
func TestPutBack(t *testing.T) {
	c := newCluster(t, newAPIService(nil))
	r, _ := c.replica(t)
	first := c.settled(t, "", r)
	if _, err := c.dynamic.Resource(APIServices).Update(t.Context(), newAPIService(nil), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.pass(t, lookInterval, 1)
	c.settled(t, "", r)
	c.known(t)
	if err := c.client.CoreV1().Secrets("infra").Delete(t.Context(), "serving", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.settled(t, first, r) // woken by the watch
}

// While the APIService can't be written, nobody serves what nobody trusts, but
// where there is nothing else.
func TestTrustComesFirst(t *testing.T) {
	c := newCluster(t, newAPIService(nil))
	var forbidden atomic.Bool
	c.dynamic.PrependReactor("patch", "apiservices", func(clienttesting.Action) (bool, runtime.Object, error) {
		if forbidden.Load() {
			return true, nil, apierrors.NewForbidden(APIServices.GroupResource(), apiService, errors.New("no"))
		}
		return false, nil, nil
	})
	r, stop := c.replica(t)
	first := c.settled(t, "", r)
	forbidden.Store(true)
	stop()
	// Another replica lost the Secret and could not tell whom to trust either.
	if err := c.client.CoreV1().Secrets("infra").Delete(t.Context(), "serving", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.ready.Store(new(error))
	if err := r.look(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("looked: %v", err)
	}
	if cert, _ := r.CurrentCertKeyContent(); string(cert) != first {
		t.Error("serves what nobody trusts")
	}
	late, _ := c.replica(t)
	eventually(t, func() bool { return late.Ready() == nil })
	if cert, _ := late.CurrentCertKeyContent(); !bytes.Equal(cert, c.secret(t).Data[LeafCert]) {
		t.Error("a replica that had nothing doesn't serve what there is")
	}
	forbidden.Store(false)
	if err := r.look(t.Context()); err != nil {
		t.Error(err)
	}
	c.settled(t, first, r, late)
}

// What is of CRDs isn't touched; without an APIService there is nothing to write.
func TestOthersAPIService(t *testing.T) {
	for name, objects := range map[string][]runtime.Object{
		"of CRDs": {newAPIService(map[string]string{automanaged: "true"})},
		"none":    nil,
	} {
		c := newCluster(t, objects...)
		r, stop := c.replica(t)
		eventually(t, func() bool { return r.Ready() == nil })
		stop()
		err := r.look(t.Context())
		if crds := len(objects) > 0; errors.Is(err, errNotOurs) != crds || (err != nil) != crds || c.patches.Load() != 0 {
			t.Errorf("%s: %v, %d patches", name, err, c.patches.Load())
		}
	}
}

// Until the Secret can be read there is something to serve, and Ready says why.
func TestBeforeTheClusterAnswers(t *testing.T) {
	c := newCluster(t, newAPIService(nil))
	var down atomic.Bool
	down.Store(true)
	c.client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return down.Load(), nil, errors.New("connection refused")
	})
	r, _ := c.replica(t)
	if cert, key := r.CurrentCertKeyContent(); certpair.Parse(cert, key) == nil || r.Ready() == nil {
		t.Errorf("nothing to serve, or ready: %v", r.Ready())
	}
	eventually(t, func() bool { return r.Ready().Error() == "secret infra/serving: connection refused" })
	down.Store(false)
	c.pass(t, retryInterval, 1)
	c.settled(t, "", r)
}
