package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const (
	account    = "system:serviceaccount:ns:sa"
	apiService = "v1alpha1.socialweb.computer"
)

// everything that a server can need.
var everything = Config{
	APIService: apiService, AuthenticationLookup: true, TokenReviews: true, AccessReviews: true, Admission: true, PriorityAndFairness: true,
	ServingSecret: Name{"ns", "serving"}, PatchAPIService: true, CredentialsNamespace: "creds",
}

// cluster is a fake one that serves what it is told.
type cluster struct {
	client    *fake.Clientset
	objects   *dynamicfake.FakeDynamicClient
	forbidden []string // beginnings of rights, in words
}

func newCluster(t *testing.T, objects ...runtime.Object) *cluster {
	t.Helper()
	c := &cluster{
		client: fake.NewClientset(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"},
			Data:       map[string]string{"client-ca-file": "A", "requestheader-client-ca-file": "B"},
		}),
		objects: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{apiServices: "APIServiceList", crds: "CustomResourceDefinitionList"}, objects...),
	}
	c.client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: account}}}, nil
	})
	c.client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		r := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		text := describe(*r.Spec.ResourceAttributes)
		r.Status.Allowed = !slices.ContainsFunc(c.forbidden, func(f string) bool { return strings.HasPrefix(text, f) })
		return true, r, nil
	})
	c.serve(admissionGroup, admissionResources...)
	c.serve(flowControlGroup, "flowschemas", "prioritylevelconfigurations")
	return c
}

// serve makes a group's version part of the cluster.
func (c *cluster) serve(group string, names ...string) {
	version := "v1"
	if group == "socialweb.computer" {
		version = "v1alpha1"
	}
	list := &metav1.APIResourceList{GroupVersion: group + "/" + version}
	for _, n := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: n})
	}
	c.client.Resources = slices.DeleteFunc(c.client.Resources, func(l *metav1.APIResourceList) bool { return l.GroupVersion == list.GroupVersion })
	c.client.Resources = append(c.client.Resources, list)
}

func (c *cluster) look(t *testing.T, config Config) *Report {
	t.Helper()
	r, err := look{Config: config, client: c.client, self: c.client, objects: c.objects}.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func object(apiVersion, kind, name string, labels map[string]string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}}
	u.SetLabels(labels)
	return u
}

func TestNothingInTheWay(t *testing.T) {
	r := newCluster(t).look(t, everything)
	if len(r.Findings)+len(r.Warnings) > 0 || len(r.Host.LackingPlugins()) > 0 || !r.Host.FlowControl {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff([]string{"A", "B"}, r.Authorities); diff != "" {
		t.Error(diff)
	}
}

// Each right that is missing is told by the object that would give it, with the
// account and the command.
func TestMissingRights(t *testing.T) {
	for forbidden, want := range map[string][2]string{
		"get configmaps": {
			"RoleBinding kube-system/infra-apiserver-authentication-reader is missing or gives too little: " + account + " may not get configmaps/extension-apiserver-authentication in kube-system",
			"kubectl -n kube-system create rolebinding infra-apiserver-authentication-reader --role=extension-apiserver-authentication-reader --serviceaccount=ns:sa",
		},
		"create subjectaccessreviews": {"ClusterRoleBinding infra-apiserver:system:auth-delegator", "--clusterrole=system:auth-delegator --serviceaccount=ns:sa"},
		"watch flowschemas":           {"may not watch flowschemas.flowcontrol.apiserver.k8s.io", "flowschemas.flowcontrol.apiserver.k8s.io,prioritylevelconfigurations"},
		"list namespaces":             {"may not list namespaces", "kubectl create clusterrole infra-apiserver --verb=get,list,watch --resource=namespaces,"},
		"update secrets/serving":      {"Role or RoleBinding ns/serving", "kubectl -n ns create role serving --verb=get,list,watch,update --resource=secrets --resource-name=serving"},
		"patch apiservices":           {"ClusterRole or ClusterRoleBinding infra-apiserver-serving", "--resource-name=" + apiService},
	} {
		c := newCluster(t)
		c.forbidden = []string{forbidden}
		r := c.look(t, everything)
		if len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Fault, want[0]) || !strings.Contains(r.Findings[0].Remedy, want[1]) {
			t.Errorf("%s: %v", forbidden, r.Findings)
		}
		if r := c.look(t, Config{}); len(r.Findings) > 0 {
			t.Errorf("%s, and nothing is needed: %v", forbidden, r.Findings)
		}
	}
}

// A Role that names each Secret is enough, and can't be seen: the server is warned.
func TestCredentialsByNameAreEnough(t *testing.T) {
	c := newCluster(t)
	c.forbidden = []string{"get secrets in creds"}
	r := c.look(t, everything)
	if len(r.Findings) != 0 || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0].Fault, "Role or RoleBinding creds/infra-apiserver is missing or gives too little, unless a Role names each Secret that is used: "+account) ||
		!strings.Contains(r.Warnings[0].Remedy, "kubectl -n creds create role infra-apiserver --verb=get --resource=secrets") {
		t.Errorf("%+v", r)
	}
	if len(r.Authorities) == 0 {
		t.Error("the warning kept it from looking on")
	}
}

// What the server does as another identity isn't asked of this one.
func TestReviewsOfAnotherIdentity(t *testing.T) {
	c := newCluster(t)
	c.forbidden = []string{"create "}
	for _, want := range []struct {
		tokens, access bool
		fault          string
	}{
		{true, false, "may not create tokenreviews.authentication.k8s.io"},
		{false, true, "may not create subjectaccessreviews.authorization.k8s.io"},
		{false, false, ""},
	} {
		config := everything
		config.TokenReviews, config.AccessReviews = want.tokens, want.access
		r := c.look(t, config)
		if want.fault == "" && len(r.Findings) > 0 || want.fault != "" && (len(r.Findings) != 1 || !strings.HasSuffix(r.Findings[0].Fault, want.fault)) {
			t.Errorf("%+v: %v", want, r.Findings)
		}
	}
}

// What the cluster lacks is left out, and needs no rights.
func TestOldCluster(t *testing.T) {
	c := newCluster(t)
	c.client.Resources = nil
	c.serve(admissionGroup, "mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicies", "validatingadmissionpolicybindings")
	c.forbidden = []string{"list mutatingadmissionpolic", "list flowschemas"}
	r := c.look(t, everything)
	if diff := cmp.Diff([]string{"MutatingAdmissionPolicy"}, r.Host.LackingPlugins()); diff != "" || r.Host.FlowControl || len(r.Findings) > 0 {
		t.Errorf("%s, flow control %t, %v", diff, r.Host.FlowControl, r.Findings)
	}
}

func TestFrontProxy(t *testing.T) {
	c := newCluster(t)
	maps := c.client.CoreV1().ConfigMaps("kube-system")
	m, err := maps.Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	delete(m.Data, "requestheader-client-ca-file")
	if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := c.look(t, everything); len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Fault, "without aggregation") {
		t.Errorf("%v", r.Findings)
	}
	if err := maps.Delete(t.Context(), m.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := c.look(t, everything); len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Fault, "doesn't exist") {
		t.Errorf("%v", r.Findings)
	}
}

// CRDs in the way are named, by whoever may list them and by whoever may not.
func TestCRDs(t *testing.T) {
	version := func(name string, served bool) any { return map[string]any{"name": name, "served": served} }
	crdOf := func(plural, group string, versions ...any) runtime.Object {
		return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", plural+"."+group, nil, map[string]any{"group": group, "versions": versions})
	}
	theirs := object("apiregistration.k8s.io/v1", "APIService", apiService, map[string]string{automanaged: "true"}, map[string]any{})
	ours := object("apiregistration.k8s.io/v1", "APIService", apiService, nil, map[string]any{"service": map[string]any{"name": "infra-apiserver"}})
	hides := crdOf("infras", "socialweb.computer", version("v1alpha1", true))
	harmless := []runtime.Object{
		crdOf("others", "socialweb.computer", version("v1alpha1", false), version("v1", true)), crdOf("infras", "example.com", version("v1alpha1", true)),
	}
	for _, c := range []struct {
		name               string
		objects            []runtime.Object
		mayList            bool
		findings, warnings []string
	}{
		{"none", harmless, true, nil, nil},
		{"before it is registered", append([]runtime.Object{hides}, harmless...), true, []string{"infras.socialweb.computer"}, nil},
		{"theirs", []runtime.Object{theirs, hides}, true, []string{"infras.socialweb.computer"}, nil},
		{"theirs, by discovery", []runtime.Object{theirs, hides}, false, []string{"gadgets.socialweb.computer, infras.socialweb.computer"}, nil},
		{"behind ours", []runtime.Object{ours, hides}, true, nil, []string{"infras.socialweb.computer"}},
		{"behind ours, unseen", []runtime.Object{ours, hides}, false, nil, nil},
	} {
		cl := newCluster(t, c.objects...)
		cl.serve("socialweb.computer", "infras", "infras/status", "gadgets")
		if !c.mayList {
			cl.objects.PrependReactor("list", "customresourcedefinitions", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(crds.GroupResource(), "", errors.New("no"))
			})
		}
		r := cl.look(t, everything)
		for _, x := range []struct {
			got  []Finding
			want []string
		}{{r.Findings, c.findings}, {r.Warnings, c.warnings}} {
			if len(x.got) != len(x.want) || (len(x.want) > 0 && !strings.Contains(x.got[0].Fault, "CustomResourceDefinitions "+x.want[0]+" serve socialweb.computer/v1alpha1")) {
				t.Errorf("%s: %v, want %v", c.name, x.got, x.want)
			}
		}
	}
}

// A cluster that can't be asked is an error, not a finding.
func TestUnreachable(t *testing.T) {
	for _, c := range []struct {
		err          error
		unauthorized bool
	}{{errors.New("connection refused"), false}, {apierrors.NewUnauthorized("who?"), true}} {
		cl := newCluster(t)
		cl.client.PrependReactor("create", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
		_, err := look{Config: everything, client: cl.client, self: cl.client, objects: cl.objects}.run(context.Background())
		if !errors.Is(err, c.err) || Unauthorized(err) != c.unauthorized {
			t.Error(err)
		}
	}
	if got := subject("somebody"); got != "--user=somebody" {
		t.Error(got)
	}
	if got := (Finding{"a fault", "a command"}).String(); got != "a fault; mend it: a command" {
		t.Error(got)
	}
}
