package manifests

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// find returns the objects of a type, by name.
func find[T metav1.Object](t *testing.T) map[string]T {
	t.Helper()
	out := map[string]T{}
	for _, o := range Objects() {
		if typed, ok := o.Typed.(T); ok {
			out[typed.GetName()] = typed
		}
	}
	if len(out) == 0 {
		t.Fatal("there is none")
	}
	return out
}

// pods of the server, the controller and etcd.
func pods(t *testing.T) map[string]corev1.PodTemplateSpec {
	t.Helper()
	out := map[string]corev1.PodTemplateSpec{}
	for name, d := range find[*appsv1.Deployment](t) {
		out[name] = d.Spec.Template
	}
	for name, s := range find[*appsv1.StatefulSet](t) {
		out[name] = s.Spec.Template
	}
	if len(out) != 3 {
		t.Fatalf("%d pods", len(out))
	}
	return out
}

func containers(pod corev1.PodSpec) []corev1.Container {
	return slices.Concat(pod.InitContainers, pod.Containers)
}

// The APIService is verified by an authority, whoever that is.
func TestTrust(t *testing.T) {
	a := find[*apiregistrationv1.APIService](t)[APIServiceName]
	if a.Spec.InsecureSkipTLSVerify || a.Spec.CABundle != nil || a.Name != a.Spec.Version+"."+a.Spec.Group {
		t.Errorf("%+v", a.Spec)
	}
	service := find[*corev1.Service](t)[a.Spec.Service.Name]
	if service == nil || service.Namespace != a.Spec.Service.Namespace || service.Spec.Ports[0].Port != *a.Spec.Service.Port {
		t.Errorf("the APIService names %v, there is %v", a.Spec.Service, service)
	}
}

// What the standard "restricted" wants, and more.
func TestPodsHaveNoRights(t *testing.T) {
	for name, p := range pods(t) {
		s := p.Spec.SecurityContext
		if !*s.RunAsNonRoot || *s.RunAsUser == 0 || *s.RunAsGroup == 0 || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: %+v", name, s)
		}
		if p.Spec.HostNetwork || p.Spec.HostPID || p.Spec.HostIPC {
			t.Errorf("%s is in a namespace of the host", name)
		}
		for _, c := range containers(p.Spec) {
			s := c.SecurityContext
			if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || len(s.Capabilities.Add) > 0 || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
				t.Errorf("%s, %s: %+v", name, c.Name, s)
			}
			if c.Resources.Requests.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
				t.Errorf("%s, %s: %+v", name, c.Name, c.Resources)
			}
			if strings.Contains(strings.Join(c.Args, " "), "insecure") {
				t.Errorf("%s, %s: %v", name, c.Name, c.Args)
			}
		}
	}
}

// Selectors select the pods, ports lead to containers, mounts have their volumes,
// variables are set, and every file that a flag names lies in a mount.
func TestPartsFit(t *testing.T) {
	variable := regexp.MustCompile(`\$\(([A-Z_]+)\)`)
	for name, p := range pods(t) {
		var volumes []string
		for _, v := range p.Spec.Volumes {
			volumes = append(volumes, v.Name)
		}
		if s := find[*appsv1.StatefulSet](t)[name]; s != nil {
			volumes = append(volumes, s.Spec.VolumeClaimTemplates[0].Name)
		}
		for _, c := range containers(p.Spec) {
			var mounts []string
			for _, m := range c.VolumeMounts {
				mounts = append(mounts, m.MountPath)
				if !slices.Contains(volumes, m.Name) {
					t.Errorf("%s: no volume %s", name, m.Name)
				}
			}
			for _, arg := range c.Args {
				for _, v := range variable.FindAllStringSubmatch(arg, -1) {
					if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == v[1] }) {
						t.Errorf("%s: %s isn't set", name, v[1])
					}
				}
				if _, value, _ := strings.Cut(arg, "="); strings.HasPrefix(value, "/") &&
					!slices.ContainsFunc(mounts, func(m string) bool { return value == m || strings.HasPrefix(value, m+"/") }) {
					t.Errorf("%s: %s is in no mount", name, arg)
				}
			}
			for _, probe := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
				if probe != nil && !hasPort(c, probe.HTTPGet.Port) {
					t.Errorf("%s: no port %s", name, probe.HTTPGet.Port.String())
				}
			}
		}
	}
	for name, s := range find[*corev1.Service](t) {
		p, ok := pods(t)[name]
		if !ok || !selects(s.Spec.Selector, p.Labels) || !hasPort(p.Spec.Containers[0], s.Spec.Ports[0].TargetPort) {
			t.Errorf("Service %s leads nowhere", name)
		}
	}
	for name, b := range find[*policyv1.PodDisruptionBudget](t) {
		if !selects(b.Spec.Selector.MatchLabels, pods(t)[name].Labels) {
			t.Errorf("PodDisruptionBudget %s protects nothing", name)
		}
	}
	for name, n := range find[*networkingv1.NetworkPolicy](t) {
		c := pods(t)[name].Spec.Containers[0]
		if !selects(n.Spec.PodSelector.MatchLabels, pods(t)[name].Labels) || n.Spec.Ingress[0].Ports[0].Port.IntVal != c.Ports[0].ContainerPort {
			t.Errorf("NetworkPolicy %s: %+v", name, n.Spec)
		}
	}
}

func hasPort(c corev1.Container, port intstr.IntOrString) bool {
	return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.StrVal })
}

func selects(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return len(selector) > 0
}

// Only the server's pods are the server's: those of others have other labels.
func TestSelectorsAreDisjoint(t *testing.T) {
	components := map[string]string{Name: containerName, EtcdName: etcdContainer, ControllerName: controllerContainer}
	for name, p := range pods(t) {
		for other, component := range components {
			if selects(selector(component), p.Labels) != (name == other) {
				t.Errorf("the pods of %s are taken for those of %s", name, other)
			}
		}
	}
}

// The port that the flag opens is the container's.
func TestSecurePort(t *testing.T) {
	c := pods(t)[Name].Spec.Containers[0]
	if got := flagOf(c, "secure-port"); got != strconv.Itoa(int(c.Ports[0].ContainerPort)) {
		t.Errorf("--secure-port=%s, container port %d", got, c.Ports[0].ContainerPort)
	}
}

func flagOf(c corev1.Container, name string) string {
	for _, arg := range c.Args {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return value
		}
	}
	return ""
}

// A pod gets the time that its end may take, and the replicas end one at a time.
func TestEndOfAPod(t *testing.T) {
	d := find[*appsv1.Deployment](t)[Name]
	delay, err := time.ParseDuration(flagOf(d.Spec.Template.Spec.Containers[0], "shutdown-delay-duration"))
	if err != nil {
		t.Fatal(err)
	}
	readiness := d.Spec.Template.Spec.Containers[0].ReadinessProbe
	if seen := time.Duration(readiness.PeriodSeconds*readiness.FailureThreshold) * time.Second; delay < seen {
		t.Errorf("it stops to listen after %s, and endpoints learn of it after %s", delay, seen)
	}
	if grace := time.Duration(*d.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second; grace < delay+watchGrace+requestTimeout {
		t.Errorf("killed after %s, needs up to %s", grace, delay+watchGrace+requestTimeout)
	}
	if *d.Spec.Replicas < 2 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntVal != 0 {
		t.Errorf("%d replicas, %+v", *d.Spec.Replicas, d.Spec.Strategy.RollingUpdate)
	}
}
