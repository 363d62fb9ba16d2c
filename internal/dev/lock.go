package dev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrLocked: another process uses the data directory.
var ErrLocked = errors.New("data directory is in use")

// Lock is an exclusive hold on a data directory. The kernel drops it when the
// process ends, however it ends.
type Lock struct{ file *os.File }

// AcquireLock takes the data directory, which it creates. ErrLocked tells whose
// it is.
func AcquireLock(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close() //nolint:errcheck // nothing was written
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		holder := "another process"
		if b, rerr := os.ReadFile(path); rerr == nil && len(b) > 0 {
			holder = "process " + strings.TrimSpace(string(b))
		}
		return nil, fmt.Errorf("%w: %s is held by %s; stop it or choose another --data-dir", ErrLocked, dir, holder)
	}
	// The process id is for the message above alone: the lock is the flock.
	if err := f.Truncate(0); err == nil {
		_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
		if err != nil {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
		}
	}
	return &Lock{file: f}, nil
}

// Release gives the data directory back.
func (l *Lock) Release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("releasing the data directory: %w", err)
	}
	return nil
}
