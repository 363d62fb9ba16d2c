package manifests

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Names of the objects. There is one such server in a cluster, since there is one
// APIService of its name, so no name depends on a release.
const (
	// Name is that of the server and of what belongs to it alone.
	Name = "infra-apiserver"
	// ControllerName is that of the controller and of what belongs to it alone.
	ControllerName = "infra-controller"
	// Namespace is where the server and the controller run.
	Namespace = "infra-system"
	// CredentialsNamespace holds the credentials of accounts and nothing else: the
	// server may read every Secret in it.
	CredentialsNamespace = "infra-credentials"
	// Group and Version are served.
	Group   = "socialweb.computer"
	Version = "v1alpha1"
	// APIServiceName is the one that the serving certificate's keeper may patch.
	APIServiceName = Version + "." + Group
	// ServingSecret holds the serving certificate and its authority.
	ServingSecret = Name + "-serving"
	// EtcdName is that of the etcd in the cluster and of what belongs to it alone.
	EtcdName = Name + "-etcd"
	// EtcdServerSecret holds the authority and the server certificate of the etcd
	// in the cluster.
	EtcdServerSecret = EtcdName + "-server"
	// EtcdClientSecret holds what the server shows to etcd: ca.crt, tls.crt, tls.key.
	EtcdClientSecret = EtcdName + "-client"

	// containerName is that of the server in its pod, etcdContainer that of etcd.
	containerName       = "apiserver"
	controllerContainer = "controller"
	etcdContainer       = "etcd"

	// securePort is above 1023: the server has no capability to bind a lower one.
	securePort = 8443
	etcdPort   = 2379
	// etcdHealthPort serves /livez, /readyz and /metrics alone, without TLS.
	etcdHealthPort = 2381

	// user of the processes, as the image's /etc/passwd names it.
	user int64 = 65532
)

// Images of the containers. The first is a place to fill in: nobody publishes it.
const (
	Image     = "registry.example.com/infra-apiserver:latest"
	EtcdImage = "registry.k8s.io/etcd:3.7.0-0"
)

// ExternalEtcdServers is the place to fill in of the component external-etcd.
const ExternalEtcdServers = "https://etcd.example.com:2379"

const (
	nameLabel      = "app.kubernetes.io/name"
	componentLabel = "app.kubernetes.io/component"
)

// selector is what tells the pods of a component from all others.
func selector(component string) map[string]string {
	return map[string]string{nameLabel: Name, componentLabel: component}
}

// component that a service account of ours belongs to. (Etcd's is part of the server's.)
func component(account string) string {
	if account == ControllerName {
		return controllerContainer
	}
	return containerName
}

// labels of an object that belongs to a component.
func labels(component string) map[string]string { return selector(component) }

// inNamespace is the metadata of an object beside the server.
func inNamespace(name, component string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: Namespace, Labels: labels(component)}
}

// clusterScoped is the metadata of an object without a namespace.
func clusterScoped(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: labels(containerName)}
}

func ptr[T any](v T) *T { return &v }
