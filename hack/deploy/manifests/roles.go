package manifests

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Resources of the group. What a deployment declares is an editor's; which account
// the server writes to, and with whose password, is an administrator's.
var (
	deployments  = []string{"ephemeralinfras", "infras"}
	repositories = []string{"atprotorepos"}
	writing      = []string{"create", "delete", "deletecollection", "patch", "update"}
)

// roles for people. Each becomes part of the cluster's own role of that name, and
// may be bound by itself.
func roles() []Object {
	return []Object{
		role("view", "Part of the cluster's view role, and so of edit and admin.",
			reading, append(append([]string{}, repositories...), deployments...)),
		role("edit", "Part of the cluster's edit role, and so of admin.", writing, deployments),
		role("admin", "Part of the cluster's admin role. An AtprotoRepo says with which credentials the\n"+
			"server writes where, so editors may not write it.", writing, repositories),
	}
}

func role(name, doc string, verbs, resources []string) Object {
	meta := clusterScoped(Name + ":" + name)
	meta.Labels["rbac.authorization.k8s.io/aggregate-to-"+name] = "true"
	return Object{File: "roles.yaml", Doc: doc, Typed: &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: meta,
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{Group}, Resources: resources, Verbs: verbs}},
	}}
}
