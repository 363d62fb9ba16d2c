package manifests

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	controllerFile = "controller.yaml"
	// controllerPort serves probes and metrics, over HTTP.
	controllerPort     = 8080
	controllerPortName = "metrics"
	// controllerGrace is what a replica gets to finish what it does and to give up its
	// Lease.
	controllerGrace = 30 * time.Second
)

// controller is the Deployment of the controller and what belongs to it.
func controller() []Object {
	return []Object{{
		File: controllerFile, When: hasController,
		Doc: "Has contracts fulfilled. One replica acts, the other takes over. It isn't of the\n" +
			"server's priority: nothing of the cluster waits for it.",
		Typed: controllerDeployment(),
	}, {
		File: controllerFile, When: hasController,
		Doc: "For Prometheus alone: that is how it finds the pods.",
		Typed: &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: inNamespace(ControllerName, controllerContainer),
			Spec: corev1.ServiceSpec{
				Selector: selector(controllerContainer), ClusterIP: corev1.ClusterIPNone,
				Ports: []corev1.ServicePort{{Name: controllerPortName, Port: controllerPort, TargetPort: intstr.FromString(controllerPortName), Protocol: corev1.ProtocolTCP}},
			},
		},
	}, {
		File: controllerFile, When: hasController,
		Typed: oneAtATime(ControllerName, controllerContainer),
	}, {
		File: controllerFile, When: controllerNetwork,
		Doc:   "It reaches the cluster's API, whose address no policy could name.",
		Typed: policy(ControllerName, controllerContainer, []networkingv1.NetworkPolicyIngressRule{{Ports: ports(corev1.ProtocolTCP, controllerPort)}}),
	}}
}

func controllerDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: inNamespace(ControllerName, controllerContainer),
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr[int32](2),
			Selector: &metav1.LabelSelector{MatchLabels: selector(controllerContainer)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selector(controllerContainer)},
				Spec: corev1.PodSpec{
					ServiceAccountName:            ControllerName,
					AutomountServiceAccountToken:  ptr(true),
					TerminationGracePeriodSeconds: ptr(int64(controllerGrace / time.Second)),
					SecurityContext:               podSecurity(),
					Containers: []corev1.Container{{
						Name:    controllerContainer,
						Image:   Image,
						Command: []string{"/" + ControllerName},
						Args: []string{
							fmt.Sprintf("--health-address=:%d", controllerPort),
							"--leader-elect-resource-namespace=" + Namespace,
						},
						Ports: []corev1.ContainerPort{{Name: controllerPortName, ContainerPort: controllerPort, Protocol: corev1.ProtocolTCP}},
						Resources: corev1.ResourceRequirements{
							Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
							Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
						},
						LivenessProbe:   plainProbe("/livez", 10, 3),
						ReadinessProbe:  plainProbe("/readyz", 10, 3),
						SecurityContext: containerSecurity(),
					}},
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
						spread(controllerContainer, "kubernetes.io/hostname"), spread(controllerContainer, "topology.kubernetes.io/zone"),
					},
				},
			},
		},
	}
}

// plainProbe is one without TLS.
func plainProbe(at string, period, failures int32) *corev1.Probe {
	p := probe(at, period, failures)
	p.HTTPGet.Port, p.HTTPGet.Scheme = intstr.FromString(controllerPortName), corev1.URISchemeHTTP
	return p
}
