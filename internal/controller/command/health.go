package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
)

const (
	// headerTimeout and serveTimeout bound what a client of the endpoint may take.
	headerTimeout = 10 * time.Second
	serveTimeout  = time.Minute
)

// health tells how the program is.
type health struct {
	watchdog *leaderelection.HealthzAdaptor
	leading  atomic.Bool
	ready    <-chan struct{}
}

// newHealth takes what is closed once everything was seen, and how long a lease may
// be expired before the program counts as stuck.
func newHealth(ready <-chan struct{}, grace time.Duration) *health {
	return &health{watchdog: leaderelection.NewLeaderHealthzAdaptor(grace), ready: ready}
}

// Live is an error where the program should be started again.
func (h *health) Live(r *http.Request) error { return h.watchdog.Check(r) }

// Ready is an error while the one that leads hasn't seen everything. One that waits
// for its turn is ready.
func (h *health) Ready(*http.Request) error {
	if !h.leading.Load() {
		return nil
	}
	select {
	case <-h.ready:
		return nil
	default:
		return errors.New("not everything was seen yet")
	}
}

// serve until end is called. An address that can't be taken is an error.
func (h *health) serve(ctx context.Context, address string) (end func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--health-address %q: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", legacyregistry.Handler())
	mux.Handle("/livez", check(h.Live))
	mux.Handle("/healthz", check(h.Live))
	mux.Handle("/readyz", check(h.Ready))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, WriteTimeout: serveTimeout}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			klog.FromContext(ctx).Error(err, "The health endpoint has ended")
		}
	}()
	klog.FromContext(ctx).Info("Serving health and metrics", "address", l.Addr().String())
	return func() {
		if err := s.Close(); err != nil {
			klog.FromContext(ctx).V(2).Info("Closing the health endpoint", "err", err)
		}
		<-done
	}, nil
}

func check(is func(*http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := is(r); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "ok")
	})
}
