package generated_test

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	applyv1alpha1 "socialweb.computer/infra-apiserver/pkg/generated/applyconfiguration/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/fake"
	"socialweb.computer/infra-apiserver/pkg/generated/informers/externalversions"
	"socialweb.computer/infra-apiserver/pkg/generated/openapi"
)

const ours = "computer.socialweb.infra-apiserver.pkg.apis.socialweb.v1alpha1."

// definitions are the OpenAPI definitions of the group's types, by their name.
func definitions() map[string]common.OpenAPIDefinition {
	all := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) })
	out := map[string]common.OpenAPIDefinition{}
	for name, def := range all {
		if short, ok := strings.CutPrefix(name, ours); ok {
			out[short] = def
		}
	}
	return out
}

// TestEveryFieldIsExplained: kubectl explain has a word on every field.
func TestEveryFieldIsExplained(t *testing.T) {
	defs := definitions()
	if len(defs) < 29 {
		t.Fatalf("%d definitions, want all types of the group", len(defs))
	}
	for name, def := range defs {
		if def.Schema.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for field, prop := range def.Schema.Properties {
			if prop.Description == "" {
				t.Errorf("%s.%s has no description", name, field)
			}
		}
	}
}

// TestListsHaveMergeRules: an apply replaces an atomic list whole, and merges a
// map by its key.
func TestListsHaveMergeRules(t *testing.T) {
	want := map[string]string{
		"InfraSpec.contracts":                   "atomic",
		"InfraSpec.secrets":                     "map",
		"EphemeralInfraSpec.contracts":          "atomic",
		"EphemeralInfraSpec.secrets":            "map",
		"InfraStatus.contracts":                 "map",
		"InfraStatus.conditions":                "map",
		"EphemeralInfraStatus.contracts":        "map",
		"EphemeralInfraStatus.conditions":       "map",
		"AtprotoRepoStatus.conditions":          "map",
		"InfraStatus.requests":                  "map",
		"EphemeralInfraStatus.requests":         "map",
		"InfraCollectionStatus.children":        "atomic",
		"InfraCollectionStatus.conditions":      "map",
		"ComputeContractStatus.conditions":      "map",
		"ComputeContractSpec.bidderDids":        "atomic",
		"ComputeContractSpec.denyBidderDids":    "atomic",
		"ComputeContractSpec.sshAuthorizedKeys": "atomic",
		"ComputeContractSpec.policyArgs":        "atomic",
		"Contract.bidderDids":                   "atomic",
		"Contract.denyBidderDids":               "atomic",
		"Contract.sshAuthorizedKeys":            "atomic",
		"Contract.policyArgs":                   "atomic",
	}
	for name, def := range definitions() {
		if strings.HasSuffix(name, "List") {
			continue
		}
		for field, prop := range def.Schema.Properties {
			if !prop.Type.Contains("array") {
				continue
			}
			at := name + "." + field
			if got := prop.Extensions["x-kubernetes-list-type"]; got != want[at] {
				t.Errorf("%s: list type %v, want %q", at, got, want[at])
			}
			delete(want, at)
		}
	}
	for at := range want {
		t.Errorf("%s is not a list", at)
	}
}

func TestFakeClientApplies(t *testing.T) {
	ctx := context.Background()
	infras := fake.NewClientset().SocialwebV1alpha1().Infras()
	apply := func(manager, contract string, force bool) (*v1alpha1.Infra, error) {
		config := applyv1alpha1.Infra("web").WithSpec(applyv1alpha1.InfraSpec().
			WithContracts(applyv1alpha1.Contract().WithName(contract).WithState(v1alpha1.ContractStaged)))
		return infras.Apply(ctx, config, metav1.ApplyOptions{FieldManager: manager, Force: force})
	}
	if _, err := apply("one", "front", false); err != nil {
		t.Fatal(err)
	}
	if _, err := apply("two", "back", false); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `"one"`) {
		t.Errorf("contracts are one field: want a conflict that names the manager, got %v", err)
	}
	infra, err := apply("two", "back", true)
	if err != nil {
		t.Fatal(err)
	}
	if c := infra.Spec.Contracts; len(c) != 1 || c[0].Name != "back" {
		t.Errorf("a forced apply replaces the whole list, got %v", c)
	}
	extracted, err := applyv1alpha1.ExtractInfra(infra, "two")
	if err != nil {
		t.Fatal(err)
	}
	if extracted.Spec == nil || len(extracted.Spec.Contracts) != 1 {
		t.Errorf("the extracted configuration lacks the contracts: %+v", extracted)
	}
}

func TestInformerAndLister(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	client := fake.NewClientset(
		&v1alpha1.EphemeralInfra{ObjectMeta: metav1.ObjectMeta{Name: "job"}},
		&v1alpha1.AtprotoRepo{ObjectMeta: metav1.ObjectMeta{Name: "main"}},
	)
	factory := externalversions.NewSharedInformerFactory(client, 0)
	jobs := factory.Socialweb().V1alpha1().EphemeralInfras().Lister()
	repos := factory.Socialweb().V1alpha1().AtprotoRepos().Lister()
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatalf("%v never synced", kind)
		}
	}
	if _, err := jobs.Get("job"); err != nil {
		t.Error(err)
	}
	if all, err := repos.List(labels.Everything()); err != nil || len(all) != 1 {
		t.Errorf("listed %v, %v", all, err)
	}
}
