package etcdcerts

import (
	"errors"

	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

// Options say which Secrets, and for which names.
type Options struct {
	// Client reaches the cluster of the Secrets.
	Client kubernetes.Interface
	// Namespace of both Secrets.
	Namespace string
	// ServerSecret holds ca.crt, ca.key, tls.crt and tls.key of etcd.
	ServerSecret string
	// ClientSecret holds ca.crt, tls.crt and tls.key for the API server.
	ClientSecret string
	// Names are the DNS names at which the API server reaches etcd. localhost and
	// 127.0.0.1 are added, for etcdctl in the pod.
	Names []string
	// Dir gets ca.crt, tls.crt and tls.key of etcd.
	Dir string
	// Clock; nil: the real one.
	Clock clock.PassiveClock
}

// Validate tells everything that is missing.
func (o Options) Validate() error {
	var errs []error
	for flag, missing := range map[string]bool{
		"--namespace": o.Namespace == "", "--server-secret": o.ServerSecret == "", "--client-secret": o.ClientSecret == "",
		"--names": len(o.Names) == 0, "--dir": o.Dir == "",
	} {
		if missing {
			errs = append(errs, errors.New(flag+" must be set"))
		}
	}
	if o.ServerSecret != "" && o.ServerSecret == o.ClientSecret {
		errs = append(errs, errors.New("--server-secret and --client-secret must differ: the API server must not read the authority's key"))
	}
	return errors.Join(errs...)
}
