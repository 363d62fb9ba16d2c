package dev

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"k8s.io/klog/v2"
)

// maxSocketPath is what fits into sockaddr_un on every system we run on, with
// room for etcd's own suffixes.
const maxSocketPath = 90

// Etcd is a running single-member etcd that listens on unix sockets alone, so
// that only this user can reach it.
type Etcd struct {
	server *embed.Etcd
	// socketDir is removed at Close where it lies outside the data directory.
	socketDir string
	endpoint  string
}

// StartEtcd starts an etcd with its data under dir and waits until it serves.
// The caller must Close it.
func StartEtcd(ctx context.Context, dir string) (*Etcd, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	e := &Etcd{}
	sockets := dir
	if len(filepath.Join(dir, "client.sock")) > maxSocketPath {
		if sockets, err = os.MkdirTemp("", "infra-etcd-"); err != nil {
			return nil, fmt.Errorf("etcd: %w", err)
		}
		e.socketDir = sockets
	}
	client := url.URL{Scheme: "unix", Path: filepath.Join(sockets, "client.sock")}
	peer := url.URL{Scheme: "unix", Path: filepath.Join(sockets, "peer.sock")}
	e.endpoint = client.String()

	e.server, err = embed.StartEtcd(etcdConfig(dir, client, peer))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("etcd: %w", err), e.Close())
	}
	select {
	case <-e.server.Server.ReadyNotify():
		return e, nil
	case err = <-e.server.Err():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return nil, errors.Join(fmt.Errorf("etcd did not start: %w", err), e.Close())
}

func etcdConfig(dir string, client, peer url.URL) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Name = "dev"
	cfg.Dir = filepath.Join(dir, "data")
	cfg.ListenClientUrls = []url.URL{client}
	cfg.AdvertiseClientUrls = []url.URL{client}
	cfg.ListenPeerUrls = []url.URL{peer}
	cfg.AdvertisePeerUrls = []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	// The only member elects itself: a short term makes the start fast and can
	// cost nothing.
	cfg.TickMs, cfg.ElectionMs = 10, 100
	// Bookmarks of a resource that nobody writes to follow what etcd tells about
	// its revision.
	cfg.WatchProgressNotifyInterval = 5 * time.Second
	cfg.LogLevel = "warn"
	cfg.LogOutputs = []string{filepath.Join(dir, "etcd.log")}
	return cfg
}

// Endpoint is what --etcd-servers takes: unix:///…/client.sock.
func (e *Etcd) Endpoint() string { return e.endpoint }

// Client makes a client that calls the server in this process. It is closed
// before the server is.
func (e *Etcd) Client() *clientv3.Client { return v3client.New(e.server.Server) }

// Close ends the server and waits for it. It may be called more than once.
func (e *Etcd) Close() error {
	if e.server != nil {
		e.server.Close()
		e.server = nil
	}
	if e.socketDir == "" {
		return nil
	}
	dir := e.socketDir
	e.socketDir = ""
	if err := os.RemoveAll(dir); err != nil {
		klog.Background().Error(err, "Removing the sockets of etcd", "dir", dir)
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}
