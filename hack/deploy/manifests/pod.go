package manifests

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The end of a pod. Endpoints and aggregators take a moment to learn that it
// leaves, and it serves them meanwhile; then requests in flight have their time.
const (
	shutdownDelay = 10 * time.Second
	// requestTimeout is the generic API server's, for requests that aren't watches.
	requestTimeout = 60 * time.Second
	// watchGrace is how long the server takes to end its watches, by default.
	watchGrace = 10 * time.Second
	// terminationGrace is when the kubelet kills.
	terminationGrace = shutdownDelay + watchGrace + requestTimeout + 10*time.Second
)

// livePath leaves etcd out: a restart doesn't bring it back.
const livePath = "/livez?exclude=etcd"

// podSecurity and containerSecurity meet the standard "restricted".
func podSecurity() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot: ptr(true), RunAsUser: ptr(user), RunAsGroup: ptr(user), FSGroup: ptr(user),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func containerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr(false),
		ReadOnlyRootFilesystem:   ptr(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func probe(at string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: at, Port: intstr.FromString("https"), Scheme: corev1.URISchemeHTTPS,
		}},
		PeriodSeconds: period, FailureThreshold: failures, TimeoutSeconds: 5,
	}
}

// startupProbe gives a start five minutes. The server answers it at once, also while
// it waits for etcd or the cluster: then it says at /readyz and in its log what for.
func startupProbe() *corev1.Probe { return probe(livePath, 5, 60) }
