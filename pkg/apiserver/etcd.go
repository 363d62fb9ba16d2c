package apiserver

import (
	"fmt"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// The keepalive of the stock storage's own clients.
const (
	etcdDialTimeout      = 20 * time.Second
	etcdKeepaliveTime    = 30 * time.Second
	etcdKeepaliveTimeout = 10 * time.Second
)

// etcdClient is the client that o makes, or one that reaches the etcd of the
// --etcd-… flags.
func etcdClient(c storagebackend.TransportConfig, o *RepoOptions) (*clientv3.Client, error) {
	if o.Etcd != nil {
		return o.Etcd(), nil
	}
	return newEtcdClient(c)
}

func newEtcdClient(c storagebackend.TransportConfig) (*clientv3.Client, error) {
	config := clientv3.Config{
		Endpoints:            c.ServerList,
		DialTimeout:          etcdDialTimeout,
		DialKeepAliveTime:    etcdKeepaliveTime,
		DialKeepAliveTimeout: etcdKeepaliveTimeout,
		Logger:               zap.NewNop(),
	}
	if c.CertFile != "" || c.KeyFile != "" || c.TrustedCAFile != "" {
		info := transport.TLSInfo{CertFile: c.CertFile, KeyFile: c.KeyFile, TrustedCAFile: c.TrustedCAFile}
		tls, err := info.ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("etcd client: %w", err)
		}
		config.TLS = tls
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("etcd client: %w", err)
	}
	return client, nil
}
