package render

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// chartDir is where the chart lies beside the kustomization.
const chartDir = "helm/" + "infra-apiserver"

// Files are all files of a deployment by their path.
func Files() (map[string][]byte, error) {
	files, err := Kustomization()
	if err != nil {
		return nil, fmt.Errorf("kustomization: %w", err)
	}
	chart, err := Chart()
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	out := maps.Clone(files)
	for name, content := range chart {
		out[chartDir+"/"+name] = content
	}
	return out, nil
}

// Write writes all files below a directory, and removes files there that say that
// they are generated and aren't written any more.
func Write(dir string) error {
	files, err := Files()
	if err != nil {
		return err
	}
	stale, err := Stale(dir, files)
	if err != nil {
		return err
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("stale file: %w", err)
		}
	}
	for name, content := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // files of the repository
			return fmt.Errorf("write: %w", err)
		}
		if err := os.WriteFile(at, content, 0o644); err != nil { //nolint:gosec // files of the repository
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// Stale are files below a directory that say that they are generated and aren't
// among the files.
func Stale(dir string, files map[string][]byte) ([]string, error) {
	var stale []string
	root := os.DirFS(dir)
	err := walkFiles(root, func(name string, content []byte) {
		if files[name] == nil && strings.HasPrefix(string(content), generated) {
			stale = append(stale, name)
		}
	})
	return stale, err
}
