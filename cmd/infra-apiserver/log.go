package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"
)

// maxLog is the size, in bytes, at which a start puts the log away and begins a
// new one.
const maxLog = 16 << 20

// quietConsole sends the log of dev to a file of the data directory, so that the
// console shows the start steps and errors alone. The caller must call flush at
// the end.
func quietConsole(dataDir string) (flush func(), err error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	path := filepath.Join(dataDir, "server.log")
	// Appending does no harm where another process turns out to use the directory.
	if st, err := os.Stat(path); err == nil && st.Size() > maxLog {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	var fs flag.FlagSet
	klog.InitFlags(&fs)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "ERROR", "one_output": "true"} {
		if err := fs.Set(name, value); err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
	}
	klog.SetOutput(f)
	return klog.Flush, nil
}
