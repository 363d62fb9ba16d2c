package manifests

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// rules that the objects give an account of ours, in every variant, by namespace;
// "": the cluster.
func rules(t *testing.T, account string) map[string][]rbacv1.PolicyRule {
	t.Helper()
	roles := map[string][]rbacv1.PolicyRule{}
	for _, o := range Objects() {
		switch r := o.Typed.(type) {
		case *rbacv1.ClusterRole:
			roles["ClusterRole/"+r.Name] = r.Rules
		case *rbacv1.Role:
			roles["Role/"+r.Namespace+"/"+r.Name] = r.Rules
		}
	}
	// Of the cluster's own roles those that every aggregated API server has: what they
	// allow is the cluster's.
	for key, name := range map[string]string{
		"ClusterRole/system:auth-delegator":                          "system:auth-delegator",
		"Role/kube-system/extension-apiserver-authentication-reader": "extension-apiserver-authentication-reader",
	} {
		roles[key] = []rbacv1.PolicyRule{{Resources: []string{"role:" + name}}}
	}
	out := map[string][]rbacv1.PolicyRule{}
	bind := func(subjects []rbacv1.Subject, namespace, key string) {
		for _, s := range subjects {
			if s.Kind != rbacv1.ServiceAccountKind || s.Namespace != Namespace {
				t.Errorf("%s is bound to %v", key, s)
			}
			if s.Name != account {
				continue
			}
			if roles[key] == nil {
				t.Errorf("%s isn't there", key)
			}
			out[namespace] = append(out[namespace], roles[key]...)
		}
	}
	for _, o := range Objects() {
		switch b := o.Typed.(type) {
		case *rbacv1.ClusterRoleBinding:
			bind(b.Subjects, "", b.RoleRef.Kind+"/"+b.RoleRef.Name)
		case *rbacv1.RoleBinding:
			bind(b.Subjects, b.Namespace, b.RoleRef.Kind+"/"+b.Namespace+"/"+b.RoleRef.Name)
		}
	}
	return out
}

// C37: no wildcard anywhere, Secrets never in the whole cluster, and beyond those of
// the credentials only by name. What writes is named one by one.
func TestLeastPrivilege(t *testing.T) {
	for _, account := range []string{Name, EtcdName} {
		for namespace, rules := range rules(t, account) {
			for _, r := range rules {
				all := slices.Concat(r.APIGroups, r.Resources, r.Verbs, r.ResourceNames, r.NonResourceURLs)
				if slices.Contains(all, "*") {
					t.Errorf("%s in %q: a wildcard: %v", account, namespace, r)
				}
				for _, verb := range []string{"escalate", "bind", "impersonate", "create", "delete", "deletecollection"} {
					if slices.Contains(r.Verbs, verb) {
						t.Errorf("%s in %q may %s: %v", account, namespace, verb, r)
					}
				}
				secrets, writes := slices.Contains(r.Resources, "secrets"), slices.Contains(r.Verbs, "update") || slices.Contains(r.Verbs, "patch")
				switch {
				case secrets && namespace == "":
					t.Errorf("%s reads Secrets everywhere: %v", account, r)
				case secrets && namespace == CredentialsNamespace:
					if !slices.Equal(r.Verbs, []string{"get"}) {
						t.Errorf("%s may %v credentials", account, r.Verbs)
					}
				case secrets && len(r.ResourceNames) == 0:
					t.Errorf("%s reads all Secrets of %q", account, namespace)
				case writes && len(r.ResourceNames) == 0 && !slices.Equal(r.Resources, []string{"flowschemas/status"}):
					t.Errorf("%s writes any %v", account, r.Resources)
				}
			}
		}
	}
}

// Who keeps certificates reaches these Secrets and this APIService, each by its name.
func TestKeepersOfCertificates(t *testing.T) {
	var got []string
	for _, account := range []string{Name, EtcdName} {
		for namespace, rules := range rules(t, account) {
			for _, r := range rules {
				if len(r.ResourceNames) > 0 {
					got = append(got, strings.Join([]string{
						account, namespace, strings.Join(r.Resources, ","), strings.Join(r.ResourceNames, ","), strings.Join(slices.Sorted(slices.Values(r.Verbs)), ","),
					}, " "))
				}
			}
		}
	}
	slices.Sort(got)
	want := []string{
		"infra-apiserver  apiservices v1alpha1.socialweb.computer get,patch",
		"infra-apiserver infra-system secrets infra-apiserver-serving get,list,update,watch",
		"infra-apiserver-etcd infra-system secrets infra-apiserver-etcd-client,infra-apiserver-etcd-server get,update",
	}
	if !slices.Equal(got, want) {
		t.Errorf("by name:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// exactly demands that an account may do this and nothing else.
func exactly(t *testing.T, account string, want []string) {
	t.Helper()
	var got []string
	for namespace, rules := range rules(t, account) {
		for _, r := range rules {
			for _, resource := range r.Resources {
				got = append(got, strings.TrimSpace(strings.Join([]string{
					namespace + "/", strings.Trim(resource+"."+strings.Join(r.APIGroups, ","), "."), strings.Join(slices.Sorted(slices.Values(r.Verbs)), ","), strings.Join(r.ResourceNames, ","),
				}, " ")))
			}
			if len(r.NonResourceURLs) > 0 {
				t.Errorf("in %q: %v", namespace, r.NonResourceURLs)
			}
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("rights of %s:\n%s\nwant:\n%s", account, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The server may do what every aggregated API server needs, read the credentials, and
// keep its certificate. Nothing else.
func TestRightsOfTheServer(t *testing.T) {
	exactly(t, Name, []string{
		"/ apiservices.apiregistration.k8s.io get,patch v1alpha1.socialweb.computer",
		"/ flowschemas.flowcontrol.apiserver.k8s.io get,list,watch",
		"/ flowschemas/status.flowcontrol.apiserver.k8s.io patch",
		"/ mutatingadmissionpolicies.admissionregistration.k8s.io get,list,watch",
		"/ mutatingadmissionpolicybindings.admissionregistration.k8s.io get,list,watch",
		"/ mutatingwebhookconfigurations.admissionregistration.k8s.io get,list,watch",
		"/ namespaces get,list,watch",
		"/ prioritylevelconfigurations.flowcontrol.apiserver.k8s.io get,list,watch",
		"/ role:system:auth-delegator",
		"/ validatingadmissionpolicies.admissionregistration.k8s.io get,list,watch",
		"/ validatingadmissionpolicybindings.admissionregistration.k8s.io get,list,watch",
		"/ validatingwebhookconfigurations.admissionregistration.k8s.io get,list,watch",
		"infra-credentials/ secrets get",
		"infra-system/ secrets get,list,update,watch infra-apiserver-serving",
		"kube-system/ role:extension-apiserver-authentication-reader",
	})
}

// The controller may do this and nothing else: it reads no Secret, writes neither
// repositories nor collections, deletes no Infra, and one Lease is its own.
func TestRightsOfTheController(t *testing.T) {
	exactly(t, ControllerName, []string{
		"/ atprotorepos.socialweb.computer get,list,watch",
		"/ computecontracts.socialweb.computer create,delete,get,list,patch,watch",
		"/ computecontracts/status.socialweb.computer patch",
		"/ ephemeralinfracollections.socialweb.computer get,list,watch",
		"/ ephemeralinfras.socialweb.computer delete",
		"/ ephemeralinfras.socialweb.computer get,list,patch,watch",
		"/ ephemeralinfras/finalizers.socialweb.computer update",
		"/ ephemeralinfras/status.socialweb.computer update",
		"/ infracollections.socialweb.computer get,list,watch",
		"/ infras.socialweb.computer get,list,patch,watch",
		"/ infras/finalizers.socialweb.computer update",
		"/ infras/status.socialweb.computer update",
		"default/ events.events.k8s.io create,patch,update",
		"infra-system/ events.events.k8s.io create,patch,update",
		"infra-system/ leases.coordination.k8s.io create",
		"infra-system/ leases.coordination.k8s.io get,update infra-controller",
	})
}

// What each role for people adds, and into which of the cluster's roles it goes.
func TestRolesForPeople(t *testing.T) {
	seen := 0
	for _, o := range roles() {
		r, ok := o.Typed.(*rbacv1.ClusterRole)
		if !ok {
			t.Fatalf("%T", o.Typed)
		}
		_, name, _ := strings.Cut(r.Name, ":")
		if r.Labels["rbac.authorization.k8s.io/aggregate-to-"+name] != "true" {
			t.Errorf("%s: labels %v", r.Name, r.Labels)
		}
		for _, rule := range r.Rules {
			seen++
			writes := slices.ContainsFunc(rule.Verbs, func(v string) bool { return !slices.Contains(reading, v) })
			if writes != (name != "view") || slices.Contains(rule.Verbs, "*") || !slices.Equal(rule.APIGroups, []string{Group}) {
				t.Errorf("%s: %v", r.Name, rule)
			}
			if writes && (slices.Contains(rule.Resources, "atprotorepos") || slices.Contains(rule.Verbs, execute)) != (name == "admin") {
				t.Errorf("%s may %v %v", r.Name, rule.Verbs, rule.Resources)
			}
			if slices.ContainsFunc(rule.Resources, func(s string) bool { return strings.Contains(s, "/") }) {
				t.Errorf("%s: a person doesn't write statuses: %v", r.Name, rule.Resources)
			}
		}
	}
	if seen != 4 {
		t.Errorf("%d rules", seen)
	}
}
