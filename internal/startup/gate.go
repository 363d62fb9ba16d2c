package startup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// firstPause is between the first two rounds of checks; it doubles up to
	// longestPause, so that what comes up is noticed soon.
	firstPause   = 250 * time.Millisecond
	longestPause = 5 * time.Second
	// checkTimeout bounds one check.
	checkTimeout = 10 * time.Second
	// firstReminder is when an unchanged reason is logged again; the time doubles up
	// to longestReminder.
	firstReminder   = 10 * time.Second
	longestReminder = 5 * time.Minute
)

// Need is something that must be there before the server can start.
type Need struct {
	// Name as it stands in the log and at /readyz.
	Name string
	// Check returns nil once it is there. Its error is logged; whoever can reach
	// /readyz reads it only where it is a PublicError.
	Check func(context.Context) error
}

// PublicError is an error whose text may be told to everybody who reaches the port: it
// names no addresses and no secrets.
type PublicError string

// Error implements error.
func (t PublicError) Error() string { return string(t) }

// Because is an error of which everybody may read t, and the log has the cause too.
func (t PublicError) Because(cause error) error { return causedError{t, cause} }

type causedError struct {
	told  PublicError
	cause error
}

// Error implements error.
func (e causedError) Error() string { return e.told.Error() + ": " + e.cause.Error() }

// Unwrap is the cause.
func (e causedError) Unwrap() error { return e.cause }

// As finds what may be told.
func (e causedError) As(target any) bool {
	t, ok := target.(*PublicError)
	if ok {
		*t = e.told
	}
	return ok
}

// Gate is shut until all needs are met.
type Gate struct {
	clock clock.Clock

	mu      sync.Mutex // guards missing
	missing []reason
}

// reason is a need that isn't met.
type reason struct {
	name string
	err  error
}

// NewGate returns a gate that waits for everything.
func NewGate(c clock.Clock) *Gate {
	return &Gate{clock: c, missing: []reason{{name: "start", err: PublicError("nothing was looked at yet")}}}
}

// Wait returns nil once all needs are met at the same time, or the error of ctx.
func (g *Gate) Wait(ctx context.Context, needs ...Need) error {
	var said string
	pause, remind, next := firstPause, firstReminder, time.Time{}
	for waited := false; ; waited = true {
		missing := check(ctx, needs)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		g.mu.Lock()
		g.missing = missing
		g.mu.Unlock()
		if len(missing) == 0 {
			if waited {
				klog.FromContext(ctx).Info("Everything is there that was waited for", "needs", names(needs))
			}
			return nil
		}
		now, text := g.clock.Now(), describe(missing)
		if text != said {
			said, remind, next = text, firstReminder, time.Time{}
		}
		if !now.Before(next) {
			log(ctx, missing)
			next, remind = now.Add(remind), min(2*remind, longestReminder)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-g.clock.After(pause):
			pause = min(2*pause, longestPause)
		}
	}
}

// check looks at all needs at once; what is missing comes in their order.
func check(ctx context.Context, needs []Need) []reason {
	errs := make([]error, len(needs))
	var g errgroup.Group
	for i, n := range needs {
		g.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, checkTimeout)
			defer cancel()
			errs[i] = n.Check(ctx)
			return nil
		})
	}
	_ = g.Wait() // each has its own error
	var missing []reason
	for i, err := range errs {
		if err != nil {
			missing = append(missing, reason{needs[i].Name, err})
		}
	}
	return missing
}

// log says one line for each thing that is missing.
func log(ctx context.Context, missing []reason) {
	for _, m := range missing {
		for _, err := range parts(m.err) {
			klog.FromContext(ctx).Info("Waiting", "for", m.name, "because", err.Error())
		}
	}
}

// parts of an error that joins several.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// public is what everybody may read of an error.
func public(err error) string {
	var told []string
	for _, part := range parts(err) {
		if t := PublicError(""); errors.As(part, &t) {
			told = append(told, string(t))
		}
	}
	if len(told) == 0 {
		return "not there yet, the log says why"
	}
	return strings.Join(told, "; ")
}

// describe is the same for the same reasons.
func describe(missing []reason) string {
	var b strings.Builder
	for _, m := range missing {
		b.WriteString(m.name + ": " + m.err.Error() + "\n")
	}
	return b.String()
}

func names(needs []Need) []string {
	var out []string
	for _, n := range needs {
		out = append(out, n.Name)
	}
	return out
}

// reasons are what is missing now.
func (g *Gate) reasons() []reason {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.missing)
}
