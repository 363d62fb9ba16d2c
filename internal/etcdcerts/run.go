package etcdcerts

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// Run fills in the Secrets and writes etcd's files. It tries until it succeeds or ctx
// ends, and says why it couldn't: the cluster may not be up, or the Secrets and
// rights not applied yet.
func Run(ctx context.Context, o Options) error {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 5, Cap: 15 * time.Second}
	var files map[string][]byte
	err := backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		var err error
		if files, err = Ensure(ctx, o); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "The certificates of etcd can't be had yet, will try again")
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("certificates of etcd: %w", err)
	}
	return write(o.Dir, files)
}

// write writes files that only their owner reads, each at once.
func write(dir string, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at+".new", files[name], 0o600); err != nil {
			return fmt.Errorf("certificates of etcd: %w", err)
		}
		if err := os.Rename(at+".new", at); err != nil {
			return fmt.Errorf("certificates of etcd: %w", err)
		}
	}
	return nil
}
