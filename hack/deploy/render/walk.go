package render

import (
	"fmt"
	"io/fs"
)

// walkFiles calls f with each regular file. A root that isn't there has none.
func walkFiles(root fs.FS, f func(name string, content []byte)) error {
	if _, err := fs.Stat(root, "."); err != nil {
		return nil //nolint:nilerr // nothing was written there yet
	}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f(name, content)
		return nil
	})
	if err != nil {
		return fmt.Errorf("files: %w", err)
	}
	return nil
}
