package kcp_test

import (
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	cachev1alpha1 "github.com/kcp-dev/sdk/apis/cache/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"socialweb.computer/infra-apiserver/artifacts/kcp"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// untyped kinds: one has no type, the other's needs a module that nothing else does.
var untyped = []string{"InfraEndpointSlice", "Workspace"}

// decoder knows every other type of the manifests, and takes no field that its type
// doesn't have.
func decoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apisv1alpha1.AddToScheme, apisv1alpha2.AddToScheme, cachev1alpha1.AddToScheme,
		corev1.AddToScheme, rbacv1.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

// everything of all files, by file. Each object has to be what its type says.
func everything(t *testing.T) map[string][]runtime.Object {
	t.Helper()
	d, out := decoder(t), map[string][]runtime.Object{}
	err := fs.WalkDir(kcp.Files, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		objects, err := kcp.Objects(path)
		if err != nil {
			return err
		}
		if len(objects) == 0 {
			t.Errorf("%s is empty", path)
		}
		for _, u := range objects {
			raw, err := u.MarshalJSON()
			if err != nil {
				return err
			}
			if slices.Contains(untyped, u.GetKind()) {
				out[path] = append(out[path], u)
				continue
			}
			obj, _, err := d.Decode(raw, nil, nil)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			out[path] = append(out[path], obj)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// decoded are the objects of a type in all files.
func decoded[T runtime.Object](t *testing.T) []T {
	t.Helper()
	var out []T
	for _, objects := range everything(t) {
		for _, obj := range objects {
			if o, ok := obj.(T); ok {
				out = append(out, o)
			}
		}
	}
	return out
}

// only is the one object of a type.
func only[T runtime.Object](t *testing.T) T {
	t.Helper()
	all := decoded[T](t)
	if len(all) != 1 {
		t.Fatalf("%d of %T", len(all), *new(T))
	}
	return all[0]
}

// Every manifest is one of the provider's or an example, and the provider's are in an
// order that can be applied.
func TestProvider(t *testing.T) {
	objects, err := kcp.Provider()
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, o := range objects {
		if len(order) == 0 || order[len(order)-1] != o.GetKind() {
			order = append(order, o.GetKind())
		}
	}
	want := "CustomResourceDefinition InfraEndpointSlice CachedResource APIResourceSchema ClusterRole ClusterRoleBinding " +
		"ClusterRole ServiceAccount ClusterRole ClusterRoleBinding APIExport"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("order %s", got)
	}
	files := 0
	for path, all := range everything(t) {
		if !strings.HasPrefix(path, "examples/") {
			files += len(all)
		}
	}
	if files != len(objects) {
		t.Errorf("%d objects in the files, %d are the provider's", files, len(objects))
	}
}

// What refers to something else means what is there.
func TestReferences(t *testing.T) {
	export, binding := only[*apisv1alpha2.APIExport](t), only[*apisv1alpha2.APIBinding](t)
	schemas := map[string]string{}
	for _, s := range decoded[*apisv1alpha1.APIResourceSchema](t) {
		schemas[s.Spec.Names.Plural] = s.Name
	}
	crd, cached := only[*apiextensionsv1.CustomResourceDefinition](t), only[*cachev1alpha1.CachedResource](t)
	slice, err := kcp.Objects("infraendpointslice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range export.Spec.Resources {
		if r.Group != v1alpha1.GroupName || r.Schema != schemas[r.Name] {
			t.Errorf("%s.%s has the schema %s, there is %s", r.Name, r.Group, r.Schema, schemas[r.Name])
		}
		delete(schemas, r.Name)
		v := r.Storage.Virtual
		if v == nil || r.Storage.CRD != nil {
			t.Errorf("%s isn't virtual", r.Name)
			continue
		}
		if *v.Reference.APIGroup != crd.Spec.Group || v.Reference.Kind != crd.Spec.Names.Kind || v.Reference.Name != slice[0].GetName() {
			t.Errorf("%s refers to %v", r.Name, v.Reference)
		}
	}
	if len(schemas) > 0 {
		t.Errorf("the export lacks %v", schemas)
	}
	if cached.Spec.Group != crd.Spec.Group || cached.Spec.Resource != crd.Spec.Names.Plural || cached.Spec.Version != crd.Spec.Versions[0].Name {
		t.Errorf("the CachedResource is of %v", cached.Spec.GroupVersionResource)
	}

	if binding.Spec.Reference.Export.Name != export.Name {
		t.Errorf("the example binds %s", binding.Spec.Reference.Export.Name)
	}
	if len(binding.Spec.PermissionClaims) != len(export.Spec.PermissionClaims) {
		t.Fatalf("the example answers %d claims", len(binding.Spec.PermissionClaims))
	}
	for i, claim := range export.Spec.PermissionClaims {
		answer := binding.Spec.PermissionClaims[i]
		if !answer.EqualGRI(claim) || !slices.Equal(answer.Verbs, claim.Verbs) || !reflect.DeepEqual(answer.Selector, *claim.DefaultSelector) {
			t.Errorf("claim %v, answer %v", claim, answer)
		}
	}
	if errs := apisv1alpha2.ValidateAPIBinding(binding); len(errs) > 0 {
		t.Error(errs)
	}
	secret, repo := only[*corev1.Secret](t), only[*v1alpha1.AtprotoRepo](t)
	for key, value := range export.Spec.PermissionClaims[0].DefaultSelector.MatchLabels {
		if secret.Labels[key] != value {
			t.Errorf("the Secret of the example isn't claimed: %v", secret.Labels)
		}
	}
	if repo.Spec.CredentialsRef.Name != secret.Name {
		t.Errorf("the example's account has the credentials %s", repo.Spec.CredentialsRef.Name)
	}
}

// The maximal permission policy lets tenants do all with what is theirs, and look at the
// rest.
func TestPolicy(t *testing.T) {
	var rules []rbacv1.PolicyRule
	for _, r := range decoded[*rbacv1.ClusterRole](t) {
		if strings.HasSuffix(r.Name, "-tenants") {
			rules = r.Rules
		}
	}
	read := []string{"get", "list", "watch"}
	write := append(slices.Clone(read), "create", "update", "patch", "delete", "deletecollection")
	got := map[string][]string{}
	for _, rule := range rules {
		if !slices.Equal(rule.APIGroups, []string{v1alpha1.GroupName}) || len(rule.ResourceNames) > 0 {
			t.Errorf("rule %v", rule)
		}
		for _, r := range rule.Resources {
			got[r] = append(got[r], rule.Verbs...)
		}
	}
	for name := range kinds() {
		want := write
		if name == "computecontracts" {
			want = read
		}
		if !slices.Equal(got[name], want) || !slices.Equal(got[name+"/status"], read) {
			t.Errorf("%s: %v, its status %v", name, got[name], got[name+"/status"])
		}
		delete(got, name)
		delete(got, name+"/status")
	}
	if len(got) > 0 {
		t.Errorf("there are no %v", got)
	}
	for _, b := range decoded[*rbacv1.ClusterRoleBinding](t) {
		if strings.HasSuffix(b.Name, "-tenants") && !strings.HasPrefix(b.Subjects[0].Name, apisv1alpha1.MaximalPermissionPolicyRBACUserGroupPrefix) {
			t.Errorf("kcp asks for other subjects than %v", b.Subjects)
		}
	}
}
