package dev

import (
	"fmt"
	"os"
	"path/filepath"
)

// writePrivate writes a file that this user alone can read, whole or not at
// all: the new content takes the name in one rename.
func writePrivate(path string, content []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	// CreateTemp makes it 0600.
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	tmp := f.Name()
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp) // best effort: the error that matters is err
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
