//go:build e2e

package kcp

import (
	"fmt"
	"os"
	"testing"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

var plane *harness.Plane

// doorAuthority signs what the replica serves with at its door for shards, which has the
// name localhost; shardAuthority what shards show there.
var doorAuthority, shardAuthority *harness.Authority

func TestMain(m *testing.M) {
	var pair harness.Pair
	var err error
	if shardAuthority, err = harness.NewAuthority("shards"); err == nil {
		doorAuthority, err = harness.NewAuthority("door")
	}
	if err == nil {
		pair, err = doorAuthority.Serving("localhost", "127.0.0.1")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	harness.Main(m, &plane, harness.Options{
		Replicas: 1, NoRepo: true, NoControllerManager: true,
		Files: map[string]string{"door/tls.crt": string(pair.Cert), "door/tls.key": string(pair.Key), "door/shards.crt": string(shardAuthority.PEM)},
		ReplicaFlags: []string{
			"--tls-sni-cert-key={dir}/door/tls.crt,{dir}/door/tls.key:localhost", "--kcp-shard-client-ca-file={dir}/door/shards.crt",
		},
	})
}
