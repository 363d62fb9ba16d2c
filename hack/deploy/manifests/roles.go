package manifests

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Resources of the group. What a deployment declares is an editor's; which account
// the server writes to, and with whose password, is an administrator's, and so is it
// to let the records of others run here.
var (
	deployments  = []string{"ephemeralinfras", "infras"}
	contracts    = []string{"computecontracts"}
	collections  = []string{"ephemeralinfracollections", "infracollections"}
	repositories = []string{"atprotorepos"}
	writing      = []string{"create", "delete", "deletecollection", "patch", "update"}
)

// execute is the verb that spec.execution Follow needs on a repository or a collection
// of it that can't be written.
const execute = "execute"

// roles for people. Each becomes part of the cluster's own role of that name, and
// may be bound by itself.
func roles() []Object {
	edited := slices.Concat(contracts, collections, deployments)
	return []Object{
		role("view", "Part of the cluster's view role, and so of edit and admin.", rule(reading, slices.Concat(repositories, edited))),
		role("edit", "Part of the cluster's edit role, and so of admin.", rule(writing, edited)),
		role("admin", "Part of the cluster's admin role. An AtprotoRepo says with which credentials the\n"+
			"server writes where, so editors may not write it. Whoever may execute lets what\n"+
			"somebody else's records declare run here.",
			rule(writing, repositories), rule([]string{execute}, slices.Concat(repositories, collections))),
	}
}

func rule(verbs, resources []string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{Group}, Resources: resources, Verbs: verbs}
}

func role(name, doc string, rules ...rbacv1.PolicyRule) Object {
	meta := clusterScoped(Name + ":" + name)
	meta.Labels["rbac.authorization.k8s.io/aggregate-to-"+name] = "true"
	return Object{File: "roles.yaml", Doc: doc, Typed: &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: meta,
		Rules:      rules,
	}}
}
