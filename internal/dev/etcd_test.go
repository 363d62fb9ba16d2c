package dev

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// What was written before a stop is there after the next start, whether the
// sockets fit into the data directory or not.
func TestEtcdKeepsData(t *testing.T) {
	for name, dir := range map[string]string{
		"short path": filepath.Join(t.TempDir(), "e"),
		"long path":  filepath.Join(t.TempDir(), strings.Repeat("d", 100)),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			withEtcd(ctx, t, dir, func(c *clientv3.Client) {
				if _, err := c.Put(ctx, "a", "1"); err != nil {
					t.Fatal(err)
				}
			})
			withEtcd(ctx, t, dir, func(c *clientv3.Client) {
				r, err := c.Get(ctx, "a")
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Kvs) != 1 || string(r.Kvs[0].Value) != "1" {
					t.Fatalf("after the restart: %v", r.Kvs)
				}
			})
		})
	}
}

func withEtcd(ctx context.Context, t *testing.T, dir string, f func(*clientv3.Client)) {
	t.Helper()
	e, err := StartEtcd(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{e.Endpoint()}, DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	f(c)
}
