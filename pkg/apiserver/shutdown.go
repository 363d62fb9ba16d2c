package apiserver

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/pflag"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/utils/clock"
)

// ShutdownOptions say how the server ends. The zero value ends at once.
type ShutdownOptions struct {
	// Delay is how long the server goes on as before, but for /readyz, after it was
	// told to end: until nobody sends it new connections.
	Delay time.Duration
	// WatchGrace is how long it takes to end the watches, a few at a time, so that
	// their clients don't come to another replica all at once.
	WatchGrace time.Duration
	// Drain has requests that are being answered end first, with everything that
	// they need; what comes meanwhile is sent to another replica. Off: the server
	// stops listening first.
	Drain bool
}

// GracefulShutdown is how a replica of several ends.
func GracefulShutdown() ShutdownOptions {
	return ShutdownOptions{Delay: 10 * time.Second, WatchGrace: 10 * time.Second, Drain: true}
}

// AddFlags binds the options to flags, which are kube-apiserver's.
func (o *ShutdownOptions) AddFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&o.Delay, "shutdown-delay-duration", o.Delay,
		"After a SIGTERM, serve as before for so long while /readyz fails. A second signal ends the process at once.")
	fs.DurationVar(&o.WatchGrace, "shutdown-watch-termination-grace-period", o.WatchGrace,
		"After that, take at most so long to end the watches, some at a time.")
	fs.BoolVar(&o.Drain, "shutdown-send-retry-after", o.Drain,
		"After the delay, answer new requests with 429 and Retry-After until the others are done. Off: don't listen any more.")
}

func (o *ShutdownOptions) check() []error {
	var errs []error
	if o.Delay < 0 {
		errs = append(errs, fmt.Errorf("--shutdown-delay-duration %s: must not be negative: give a time like 10s", o.Delay))
	}
	if o.WatchGrace < 0 {
		errs = append(errs, fmt.Errorf("--shutdown-watch-termination-grace-period %s: must not be negative: give a time like 10s", o.WatchGrace))
	}
	return errs
}

// applyTo makes c end so.
func (o *ShutdownOptions) applyTo(c *genericapiserver.Config) {
	c.ShutdownDelayDuration = o.Delay
	c.ShutdownWatchTerminationGracePeriod = o.WatchGrace
	c.ShutdownSendRetryAfter = o.Drain
	if o.Delay > 0 {
		build, ending := c.BuildHandlerChainFunc, c.ShutdownInitiatedNotify()
		c.BuildHandlerChainFunc = func(h http.Handler, c *genericapiserver.Config) http.Handler {
			return sendAway(build(h, c), ending, o.Delay/2, clock.RealClock{})
		}
	}
}

// sendAway asks clients to connect anew once ending is closed and a while has
// passed: by then new connections go to other replicas. An aggregator keeps one
// connection for everything, and would otherwise keep to this replica until its
// end. Requests and watches on the old connection are not touched (over HTTP/2 the
// header becomes a GOAWAY).
func sendAway(next http.Handler, ending <-chan struct{}, after time.Duration, clk clock.PassiveClock) http.Handler {
	noted := sync.OnceValue(clk.Now)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-ending:
			if clk.Since(noted()) >= after {
				w.Header().Set("Connection", "close")
			}
		default:
		}
		next.ServeHTTP(w, r)
	})
}
