package manifests

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// network says who may reach the server and whom it may reach.
func network() []Object {
	return []Object{{
		File: "networkpolicy.yaml",
		Doc: "The cluster's control plane has no address that a policy could name, so the one\n" +
			"port is open to all; the server authenticates whoever comes. It reaches etcd, the\n" +
			"cluster, admission webhooks and any PDS, but no link-local address such as a\n" +
			"cloud's metadata service, DNS aside.",
		When:  networkPolicy,
		Typed: policy(Name, containerName, []networkingv1.NetworkPolicyIngressRule{{Ports: ports(corev1.ProtocolTCP, securePort)}}),
	}}
}

func policy(name, component string, ingress []networkingv1.NetworkPolicyIngressRule) *networkingv1.NetworkPolicy {
	dns := append(ports(corev1.ProtocolUDP, 53), ports(corev1.ProtocolTCP, 53)...)
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: inNamespace(name, component),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: selector(component)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     ingress,
			Egress: []networkingv1.NetworkPolicyEgressRule{
				{Ports: dns},
				{To: []networkingv1.NetworkPolicyPeer{
					{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: []string{"169.254.0.0/16"}}},
					{IPBlock: &networkingv1.IPBlock{CIDR: "::/0", Except: []string{"fe80::/10", "fd00:ec2::254/128"}}},
				}},
			},
		},
	}
}

func ports(protocol corev1.Protocol, numbers ...int32) []networkingv1.NetworkPolicyPort {
	out := make([]networkingv1.NetworkPolicyPort, len(numbers))
	for i, n := range numbers {
		out[i] = networkingv1.NetworkPolicyPort{Protocol: ptr(protocol), Port: ptr(intstr.FromInt32(n))}
	}
	return out
}
