package preflight

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultAccount is whom the manifests run the server as.
const defaultAccount = "system:serviceaccount:infra-system:infra-apiserver"

// right is one thing that the server has to be allowed to do.
type right = authorizationv1.ResourceAttributes

// grant is the object that gives some rights.
type grant struct {
	object string // as a person knows it
	rights []right
	// remedy is a command; %s is where the subject goes.
	remedy string
	// unless says what does as well and can't be seen here; without the grant the
	// server is warned alone. "": nothing does.
	unless string
}

// subject is a user in the words of kubectl create …binding.
func subject(user string) string {
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		return "--serviceaccount=" + account
	}
	return "--user=" + user
}

// finding says which rights a grant doesn't give.
func (g grant) finding(who string, missing []string) Finding {
	return Finding{
		Fault:  g.object + " is missing or gives too little" + g.unless + ": " + who + " may not " + strings.Join(missing, ", "),
		Remedy: strings.ReplaceAll(g.remedy, "%s", subject(who)),
	}
}

// grants are what the server needs. The names are those of the manifests.
func (l look) grants(host Host) []grant {
	var out []grant
	if l.AuthenticationLookup {
		out = append(out, grant{
			object: "RoleBinding kube-system/infra-apiserver-authentication-reader",
			rights: verbs(right{Namespace: metav1.NamespaceSystem, Resource: "configmaps", Name: "extension-apiserver-authentication"}, "get", "list", "watch"),
			remedy: "kubectl -n kube-system create rolebinding infra-apiserver-authentication-reader --role=extension-apiserver-authentication-reader %s",
		})
	}
	var reviews []right
	if l.TokenReviews {
		reviews = append(reviews, right{Group: "authentication.k8s.io", Resource: "tokenreviews", Verb: "create"})
	}
	if l.AccessReviews {
		reviews = append(reviews, right{Group: "authorization.k8s.io", Resource: "subjectaccessreviews", Verb: "create"})
	}
	if len(reviews) > 0 {
		out = append(out, grant{
			object: "ClusterRoleBinding infra-apiserver:system:auth-delegator",
			rights: reviews,
			remedy: "kubectl create clusterrolebinding infra-apiserver:system:auth-delegator --clusterrole=system:auth-delegator %s",
		})
	}
	if g := l.watching(host); len(g.rights) > 0 {
		out = append(out, g)
	}
	return append(out, l.secrets()...)
}

// watching is what the informers of admission, and of priority and fairness, read.
func (l look) watching(host Host) grant {
	const read = "get,list,watch"
	var resources []string
	var rights []right
	need := func(group, resource string) {
		rights = append(rights, verbs(right{Group: group, Resource: resource}, "list", "watch")...)
		if group != "" {
			resource += "." + group
		}
		resources = append(resources, resource)
	}
	if l.Admission {
		need("", "namespaces")
		for _, r := range admissionResources {
			if host.Serves(admissionGroup, r) {
				need(admissionGroup, r)
			}
		}
	}
	if l.PriorityAndFairness && host.FlowControl {
		need(flowControlGroup, "flowschemas")
		need(flowControlGroup, "prioritylevelconfigurations")
	}
	return grant{
		object: "ClusterRole or ClusterRoleBinding infra-apiserver",
		rights: rights,
		remedy: "kubectl create clusterrole infra-apiserver --verb=" + read + " --resource=" + strings.Join(resources, ",") +
			"; kubectl create clusterrolebinding infra-apiserver --clusterrole=infra-apiserver %s",
	}
}

// secrets are the certificate that the server keeps and the credentials it reads.
func (l look) secrets() []grant {
	var out []grant
	if s := l.ServingSecret; s != (Name{}) {
		out = append(out, grant{
			object: "Role or RoleBinding " + s.Namespace + "/" + s.Name,
			rights: verbs(right{Namespace: s.Namespace, Resource: "secrets", Name: s.Name}, "get", "update"),
			remedy: "kubectl -n " + s.Namespace + " create role " + s.Name + " --verb=get,list,watch,update --resource=secrets --resource-name=" + s.Name +
				"; kubectl -n " + s.Namespace + " create rolebinding " + s.Name + " --role=" + s.Name + " %s",
		})
	}
	if l.PatchAPIService {
		out = append(out, grant{
			object: "ClusterRole or ClusterRoleBinding infra-apiserver-serving",
			rights: verbs(right{Group: apiServices.Group, Resource: apiServices.Resource, Name: l.APIService}, "get", "patch"),
			remedy: "kubectl create clusterrole infra-apiserver-serving --verb=get,patch --resource=apiservices.apiregistration.k8s.io --resource-name=" + l.APIService +
				"; kubectl create clusterrolebinding infra-apiserver-serving --clusterrole=infra-apiserver-serving %s",
		})
	}
	if ns := l.CredentialsNamespace; ns != "" {
		out = append(out, grant{
			object: "Role or RoleBinding " + ns + "/infra-apiserver",
			// Which Secrets are read is known only once objects name them.
			rights: verbs(right{Namespace: ns, Resource: "secrets"}, "get"),
			unless: ", unless a Role names each Secret that is used",
			remedy: "kubectl -n " + ns + " create role infra-apiserver --verb=get --resource=secrets; kubectl -n " + ns +
				" create rolebinding infra-apiserver --role=infra-apiserver %s",
		})
	}
	return out
}

func verbs(r right, verbs ...string) []right {
	var out []right
	for _, v := range verbs {
		r.Verb = v
		out = append(out, r)
	}
	return out
}

// reviewsAtOnce bounds the reviews in flight: some dozens one after the other would
// take longer than a look may where the control plane is slow.
const reviewsAtOnce = 8

// missing asks the cluster which rights of each grant we don't have, in words.
func (l look) missing(ctx context.Context, grants []grant) ([][]string, error) {
	lacks := make([][]bool, len(grants))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(reviewsAtOnce)
	for i, g := range grants {
		lacks[i] = make([]bool, len(g.rights))
		for j, r := range g.rights {
			group.Go(func() error {
				review, err := l.self.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
					&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &r}}, metav1.CreateOptions{})
				if err != nil {
					return err
				}
				lacks[i][j] = !review.Status.Allowed
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	out := make([][]string, len(grants))
	for i, g := range grants {
		for j, r := range g.rights {
			if text := describe(r); lacks[i][j] && !slices.Contains(out[i], text) {
				out[i] = append(out[i], text)
			}
		}
	}
	return out, nil
}

func describe(r right) string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += "/" + r.Name
	}
	if r.Namespace != "" {
		text += " in " + r.Namespace
	}
	return text
}

func newSelfSubjectReview() *authenticationv1.SelfSubjectReview {
	return &authenticationv1.SelfSubjectReview{}
}
