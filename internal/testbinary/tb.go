// Package testbinary is for what the tests of one binary share: things that are made
// once and end with the process, and its log.
package testbinary

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// TB is a testing.TB of the whole binary: its cleanups run in Cleanups, its directories
// lie in one that the caller removes. It fails by panicking.
type TB struct {
	testing.TB // nil: what isn't here must not be called
	dir        string

	mu   sync.Mutex
	done []func()
}

// New makes one whose directories lie in dir.
func New(dir string) *TB { return &TB{dir: dir} }

// Helper implements testing.TB.
func (b *TB) Helper() {}

// Cleanup implements testing.TB.
func (b *TB) Cleanup(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = append(b.done, f)
}

// TempDir implements testing.TB.
func (b *TB) TempDir() string {
	dir, err := os.MkdirTemp(b.dir, "shared-")
	if err != nil {
		panic(err)
	}
	return dir
}

// Context implements testing.TB: it never ends.
func (b *TB) Context() context.Context { return context.Background() }

// Fatal implements testing.TB.
func (b *TB) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// Fatalf implements testing.TB.
func (b *TB) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Errorf implements testing.TB.
func (b *TB) Errorf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Cleanups runs the cleanups, the last first.
func (b *TB) Cleanups() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(b.done) - 1; i >= 0; i-- {
		b.done[i]()
	}
	b.done = nil
}
