package dev

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/utils/clock"
)

// Steps prints what a start does and how long each part of it took.
type Steps struct {
	out   io.Writer
	clock clock.PassiveClock
	begin time.Time
}

// NewSteps begins to count now.
func NewSteps(out io.Writer, clk clock.PassiveClock) *Steps {
	return &Steps{out: out, clock: clk, begin: clk.Now()}
}

// Do runs one step and prints its name, its time, and what it says about its
// result. An error ends the start, so it carries the step's name and is not
// printed here.
func (s *Steps) Do(ctx context.Context, name string, f func(context.Context) (string, error)) error {
	start := s.clock.Now()
	detail, err := f(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.print(name, s.clock.Since(start), detail)
	return nil
}

// Done prints the time of the whole start.
func (s *Steps) Done(detail string) { s.print("ready", s.clock.Since(s.begin), detail) }

func (s *Steps) print(name string, d time.Duration, detail string) {
	// A console that is gone must not end the server.
	_, _ = fmt.Fprintf(s.out, "%-20s %6d ms  %s\n", name, d.Milliseconds(), detail)
}
