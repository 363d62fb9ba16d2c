package manifests

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	etcdFile      = "etcd.yaml"
	certsVolume   = "certificates"
	certsDir      = "/certificates"
	dataVolume    = "data"
	dataDir       = "/var/lib/etcd"
	certsInitName = "certificates"
)

// etcd of one member, with what only it and the server may do with it.
func etcd() []Object {
	add := func(doc string, o runtime.Object) Object {
		return Object{File: etcdFile, Doc: doc, When: inClusterEtcd, Typed: o}
	}
	return []Object{
		add("", &corev1.ServiceAccount{
			TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta:                   inNamespace(EtcdName, etcdContainer),
			AutomountServiceAccountToken: ptr(false),
		}),
		add("Authority, certificate and key of etcd. The pod's first container fills it in.", emptySecret(EtcdServerSecret, etcdContainer)),
		add("What the API server shows to etcd. The pod's first container fills it in.", emptySecret(EtcdClientSecret, etcdContainer)),
		add("", secretRole(EtcdName, []string{"get", "update"}, EtcdClientSecret, EtcdServerSecret)),
		add("", roleBinding(EtcdName, Namespace, EtcdName, EtcdName)),
		add("", &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: inNamespace(EtcdName, etcdContainer),
			Spec: corev1.ServiceSpec{
				Selector: selector(etcdContainer), ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true,
				Ports: []corev1.ServicePort{{Name: "client", Port: etcdPort, TargetPort: intstr.FromString("client"), Protocol: corev1.ProtocolTCP}},
			},
		}),
		add("One member: while its node is away there are no reads and no writes. For more,\nrun etcd yourself and use the component external-etcd. A change of the pod takes effect\nwhen you delete it.", etcdSet()),
		{File: etcdFile, Doc: "The API server, and probes.", When: etcdNetwork, Typed: policy(EtcdName, etcdContainer,
			[]networkingv1.NetworkPolicyIngressRule{
				{
					From:  []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: selector(containerName)}}},
					Ports: ports(corev1.ProtocolTCP, etcdPort),
				},
				{Ports: ports(corev1.ProtocolTCP, etcdHealthPort)},
			})},
	}
}

func etcdSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "StatefulSet"},
		ObjectMeta: inNamespace(EtcdName, etcdContainer),
		Spec: appsv1.StatefulSetSpec{
			Replicas:    ptr[int32](1),
			ServiceName: EtcdName,
			Selector:    &metav1.LabelSelector{MatchLabels: selector(etcdContainer)},
			// There is one member, and its pod has the server's image: an update of the
			// server would restart it.
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selector(etcdContainer)},
				Spec: corev1.PodSpec{
					ServiceAccountName:           EtcdName,
					AutomountServiceAccountToken: ptr(true),
					PriorityClassName:            priorityClass,
					SecurityContext:              etcdSecurity(),
					InitContainers:               []corev1.Container{certsInit()},
					Containers:                   []corev1.Container{etcdServer()},
					Volumes: []corev1.Volume{{Name: certsVolume, VolumeSource: corev1.VolumeSource{
						EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: ptr(resource.MustParse("1Mi"))},
					}}},
				},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: dataVolume},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("8Gi")}},
				},
			}},
		},
	}
}

// etcdSecurity leaves the volume's files alone once they are etcd's: it wants no
// group to read them.
func etcdSecurity() *corev1.PodSecurityContext {
	s := podSecurity()
	s.FSGroupChangePolicy = ptr(corev1.FSGroupChangeOnRootMismatch)
	return s
}

// certsInit makes what is missing of the two Secrets and leaves etcd's part of it
// in a volume: a Secret's volume would be there before the Secret is filled in.
func certsInit() corev1.Container {
	return corev1.Container{
		Name:  certsInitName,
		Image: Image,
		Args: []string{
			"etcd-certificates",
			"--namespace=" + Namespace,
			"--server-secret=" + EtcdServerSecret,
			"--client-secret=" + EtcdClientSecret,
			"--names=" + EtcdName + "." + Namespace + ".svc," + EtcdName,
			"--dir=" + certsDir,
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
		},
		SecurityContext: containerSecurity(),
		VolumeMounts:    []corev1.VolumeMount{{Name: certsVolume, MountPath: certsDir}},
	}
}

func etcdServer() corev1.Container {
	health := func(at string, period, failures int32) *corev1.Probe {
		p := probe(at, period, failures)
		p.HTTPGet.Port, p.HTTPGet.Scheme = intstr.FromString("health"), corev1.URISchemeHTTP
		return p
	}
	return corev1.Container{
		Name:    etcdContainer,
		Image:   EtcdImage,
		Command: []string{"etcd"},
		Args: []string{
			"--name=" + EtcdName,
			"--data-dir=" + dataDir + "/data",
			"--listen-client-urls=https://0.0.0.0:2379",
			"--advertise-client-urls=https://" + EtcdName + "." + Namespace + ".svc:2379",
			// One member has no peers.
			"--listen-peer-urls=http://127.0.0.1:2380",
			"--initial-advertise-peer-urls=http://127.0.0.1:2380",
			"--initial-cluster=" + EtcdName + "=http://127.0.0.1:2380",
			"--listen-metrics-urls=http://0.0.0.0:2381",
			"--client-cert-auth=true",
			"--trusted-ca-file=" + certsDir + "/ca.crt",
			"--cert-file=" + certsDir + "/tls.crt",
			"--key-file=" + certsDir + "/tls.key",
			"--quota-backend-bytes=4294967296",
		},
		Ports: []corev1.ContainerPort{
			{Name: "client", ContainerPort: etcdPort, Protocol: corev1.ProtocolTCP},
			{Name: "health", ContainerPort: etcdHealthPort, Protocol: corev1.ProtocolTCP},
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
		},
		StartupProbe:    health("/readyz", 5, 120),
		LivenessProbe:   health("/livez", 10, 6),
		ReadinessProbe:  health("/readyz", 5, 3),
		SecurityContext: containerSecurity(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: certsVolume, MountPath: certsDir, ReadOnly: true},
			{Name: dataVolume, MountPath: dataDir},
		},
	}
}
