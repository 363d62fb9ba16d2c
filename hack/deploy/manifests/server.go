package manifests

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	priorityClass = "system-cluster-critical"
	deployFile    = "deployment.yaml"

	servingDir = "/etc/infra-apiserver/serving"
	etcdDir    = "/etc/infra-apiserver/etcd"

	servingVolume = "serving-certificate"
	etcdVolume    = "etcd-client"

	// etcdServers is the variable by which the variants name their etcd: a patch
	// finds it by its name.
	etcdServers = "ETCD_SERVERS"
)

// pod, container and list lead to lists of the server's Deployment.
var (
	pod       = []string{"spec", "template", "spec"}
	container = []string{"spec", "template", "spec", "containers", "[" + containerName + "]"}
)

func path(base []string, more ...string) []string {
	return append(append([]string{}, base...), more...)
}

// server is the Deployment and what keeps it reachable.
func server() []Object {
	return []Object{{
		File:  deployFile,
		Typed: deployment(),
		Items: []Item{
			{ownCertificate, path(container, "args", "[--serving-cert-secret]")},
			{ownCertificate, path(container, "args", "[--serving-cert-apiservice]")},
			{certManager, path(container, "args", "[--tls-cert-file]")},
			{certManager, path(container, "args", "[--tls-private-key-file]")},
			{certManager, path(container, "volumeMounts", "["+servingVolume+"]")},
			{certManager, path(pod, "volumes", "["+servingVolume+"]")},
			{inClusterEtcd, path(container, "env", "0")},
			{externalEtcd, path(container, "env", "1")},
		},
	}, {
		File: "service.yaml",
		Typed: &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: inNamespace(Name, containerName),
			Spec: corev1.ServiceSpec{
				Selector: selector(containerName),
				Ports:    []corev1.ServicePort{{Name: "https", Port: 443, TargetPort: intstr.FromString("https"), Protocol: corev1.ProtocolTCP}},
			},
		},
	}, {
		File:  "poddisruptionbudget.yaml",
		Doc:   "One replica at a time. A pod that isn't ready doesn't hold up a drain.",
		Typed: oneAtATime(Name, containerName),
	}}
}

func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: inNamespace(Name, containerName),
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr[int32](2),
			Selector: &metav1.LabelSelector{MatchLabels: selector(containerName)},
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge: ptr(intstr.FromInt32(1)), MaxUnavailable: ptr(intstr.FromInt32(0)),
				},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selector(containerName)},
				Spec:       serverPod(),
			},
		},
	}
}

func serverPod() corev1.PodSpec {
	return corev1.PodSpec{
		ServiceAccountName:            Name,
		AutomountServiceAccountToken:  ptr(true),
		PriorityClassName:             priorityClass,
		TerminationGracePeriodSeconds: ptr(int64(terminationGrace / time.Second)),
		SecurityContext:               podSecurity(),
		Containers: []corev1.Container{{
			Name:  containerName,
			Image: Image,
			Args:  serverArgs(),
			Env: []corev1.EnvVar{
				{Name: etcdServers, Value: "https://" + EtcdName + "." + Namespace + ".svc:2379"},
				{Name: etcdServers, Value: ExternalEtcdServers},
			},
			Ports: []corev1.ContainerPort{{Name: "https", ContainerPort: securePort, Protocol: corev1.ProtocolTCP}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
			},
			StartupProbe:    startupProbe(),
			LivenessProbe:   probe(livePath, 10, 3),
			ReadinessProbe:  probe("/readyz", 3, 3),
			SecurityContext: containerSecurity(),
			VolumeMounts: []corev1.VolumeMount{
				{Name: etcdVolume, MountPath: etcdDir, ReadOnly: true},
				{Name: servingVolume, MountPath: servingDir, ReadOnly: true},
			},
		}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{spread(containerName, "kubernetes.io/hostname"), spread(containerName, "topology.kubernetes.io/zone")},
		Volumes: []corev1.Volume{
			secretVolume(etcdVolume, EtcdClientSecret, "ca.crt", "tls.crt", "tls.key"),
			secretVolume(servingVolume, ServingSecret, "tls.crt", "tls.key"),
		},
	}
}

func serverArgs() []string {
	return []string{
		"serve",
		fmt.Sprintf("--secure-port=%d", securePort),
		"--etcd-servers=$(" + etcdServers + ")",
		"--etcd-cafile=" + etcdDir + "/ca.crt",
		"--etcd-certfile=" + etcdDir + "/tls.crt",
		"--etcd-keyfile=" + etcdDir + "/tls.key",
		"--credentials-namespace=" + CredentialsNamespace,
		"--profiling=false",
		"--shutdown-delay-duration=" + shutdownDelay.String(),
		"--serving-cert-secret=" + Namespace + "/" + ServingSecret,
		"--serving-cert-apiservice=" + APIServiceName,
		"--tls-cert-file=" + servingDir + "/tls.crt",
		"--tls-private-key-file=" + servingDir + "/tls.key",
	}
}

// spread keeps the replicas of one revision apart where the cluster has room.
func spread(component, topology string) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector:  &metav1.LabelSelector{MatchLabels: selector(component)},
		MatchLabelKeys: []string{"pod-template-hash"},
	}
}

// secretVolume has these keys of a Secret. Its pod starts once they are all there.
func secretVolume(name, secret string, keys ...string) corev1.Volume {
	items := make([]corev1.KeyToPath, len(keys))
	for i, k := range keys {
		items[i] = corev1.KeyToPath{Key: k, Path: k}
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secret, Items: items, DefaultMode: ptr[int32](0o440)},
	}}
}
