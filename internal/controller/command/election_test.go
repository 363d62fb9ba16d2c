package command

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	core "k8s.io/client-go/testing"
	"k8s.io/component-base/config"
)

func election(renew time.Duration) *config.LeaderElectionConfiguration {
	c := &NewOptions().Election
	c.LeaseDuration.Duration, c.RenewDeadline.Duration, c.RetryPeriod.Duration = 2*renew, renew, renew/10
	return c
}

func lease(t *testing.T, cluster *fake.Clientset) *coordinationv1.Lease {
	t.Helper()
	l, err := cluster.CoordinationV1().Leases(defaultNamespace).Get(t.Context(), programName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Outside a pod somebody has to say where the cluster is.
func TestNeedsAKubeconfig(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if err := Run(t.Context(), NewOptions()); err == nil || !strings.Contains(err.Error(), "--kubeconfig is empty") {
		t.Errorf("without a kubeconfig: %v", err)
	}
}

// The lease is held while something runs, and given back once it has ended.
func TestLeaseIsGivenBack(t *testing.T) {
	cluster := fake.NewClientset()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := newHealth(nil, time.Minute)
	err := lead(ctx, cluster, election(time.Minute), h, func(running context.Context) error {
		cancel()
		<-running.Done()
		if l := lease(t, cluster); l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
			t.Error("given back while it runs")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if l := lease(t, cluster); *l.Spec.HolderIdentity != "" {
		t.Errorf("held by %s", *l.Spec.HolderIdentity)
	}
}

// Who can't renew its lease ends with an error, and what it runs ends first.
func TestLostLease(t *testing.T) {
	cluster := fake.NewClientset()
	var away atomic.Bool
	cluster.PrependReactor("*", "leases", func(core.Action) (bool, runtime.Object, error) {
		return away.Load(), nil, errors.New("away")
	})
	ended := false
	err := lead(t.Context(), cluster, election(500*time.Millisecond), newHealth(nil, time.Minute), func(running context.Context) error {
		away.Store(true)
		<-running.Done()
		ended = true
		return nil
	})
	if !errors.Is(err, errLost) || !ended {
		t.Errorf("err %v, ended %t", err, ended)
	}
}

// Who never was elected ends without a word.
func TestNeverElected(t *testing.T) {
	cluster := fake.NewClientset()
	ctx, cancel := context.WithCancel(t.Context())
	cluster.PrependReactor("get", "leases", func(core.Action) (bool, runtime.Object, error) {
		cancel()
		return true, nil, errors.New("away")
	})
	if err := lead(ctx, cluster, election(time.Minute), newHealth(nil, time.Minute), func(context.Context) error {
		t.Error("it runs")
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestHealth(t *testing.T) {
	seen := make(chan struct{})
	h := newHealth(seen, time.Minute)
	code := func() int {
		w := httptest.NewRecorder()
		check(h.Ready).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody))
		return w.Code
	}
	if c := code(); c != http.StatusOK {
		t.Errorf("waiting for its turn: %d", c)
	}
	h.leading.Store(true)
	if c := code(); c != http.StatusServiceUnavailable {
		t.Errorf("leading, nothing seen: %d", c)
	}
	close(seen)
	if c := code(); c != http.StatusOK {
		t.Errorf("at work: %d", c)
	}
	end, err := h.serve(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	end()
	if _, err := h.serve(t.Context(), "nowhere:x"); err == nil || !strings.Contains(err.Error(), "--health-address") {
		t.Errorf("an address that isn't one: %v", err)
	}
}

func TestValidate(t *testing.T) {
	if err := NewOptions().Validate(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*Options){
		"--concurrent-syncs 0":          func(o *Options) { o.Workers = 0 },
		"--kube-api-qps 0":              func(o *Options) { o.QPS = 0 },
		"--leader-elect-resource-lock":  func(o *Options) { o.Election.ResourceLock = "endpoints" },
		"--leader-elect-resource-name":  func(o *Options) { o.Election.ResourceNamespace = "" },
		"--leader-elect-lease-duration": func(o *Options) { o.Election.LeaseDuration.Duration = time.Second },
	} {
		o := NewOptions()
		spoil(o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		o.Election.LeaderElect = false
		if strings.HasPrefix(want, "--leader") && o.Validate() != nil {
			t.Errorf("%s counts without an election", want)
		}
	}
}
