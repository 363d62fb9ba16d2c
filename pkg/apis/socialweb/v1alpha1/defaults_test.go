package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

func int32p(n int32) *int32 { return &n }

func TestDefaults(t *testing.T) {
	scheme := runtime.NewScheme()
	// The conversions register the internal types' functions only; the types of
	// this version are enough here.
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name     string
		in, want runtime.Object
	}{
		{"empty infra", &Infra{}, &Infra{}},
		{
			"contract and binding",
			&Infra{Spec: InfraSpec{Contracts: []Contract{{Name: "a"}, {Name: "b", State: ContractReleased}}, Record: &RecordBinding{}}},
			&Infra{Spec: InfraSpec{
				Contracts: []Contract{{Name: "a", State: ContractStaged}, {Name: "b", State: ContractReleased}},
				Record:    &RecordBinding{DeletionPolicy: DeletionDelete},
			}},
		},
		{
			"retain stays",
			&Infra{Spec: InfraSpec{Record: &RecordBinding{DeletionPolicy: DeletionRetain}}},
			&Infra{Spec: InfraSpec{Record: &RecordBinding{DeletionPolicy: DeletionRetain}}},
		},
		{
			"ephemeral",
			&EphemeralInfra{Spec: EphemeralInfraSpec{InfraSpec: InfraSpec{Contracts: []Contract{{Name: "a"}}}}},
			&EphemeralInfra{Spec: EphemeralInfraSpec{
				InfraSpec:  InfraSpec{Contracts: []Contract{{Name: "a", State: ContractStaged}}},
				TTLSeconds: int32p(3600), EndWhen: EndComplete,
			}},
		},
		{
			"an explicit zero is not a default",
			&EphemeralInfra{Spec: EphemeralInfraSpec{TTLSeconds: int32p(0), EndWhen: EndDeadline}},
			&EphemeralInfra{Spec: EphemeralInfraSpec{TTLSeconds: int32p(0), EndWhen: EndDeadline}},
		},
		{
			"items of a list",
			&InfraList{Items: []Infra{{Spec: InfraSpec{Contracts: []Contract{{Name: "a"}}}}}},
			&InfraList{Items: []Infra{{Spec: InfraSpec{Contracts: []Contract{{Name: "a", State: ContractStaged}}}}}},
		},
		{"collection", &InfraCollection{}, &InfraCollection{Spec: InfraCollectionSpec{MaxItems: int32p(1000)}}},
		{"its bound stays", &EphemeralInfraCollection{Spec: InfraCollectionSpec{MaxItems: int32p(1)}}, &EphemeralInfraCollection{Spec: InfraCollectionSpec{MaxItems: int32p(1)}}},
		{"compute contract", &ComputeContract{}, &ComputeContract{}},
		{
			"repository",
			&AtprotoRepo{},
			&AtprotoRepo{Spec: AtprotoRepoSpec{Access: AccessReadWrite, EventSource: EventSourceFirehose, StaleReads: StaleReadsDeny}},
		},
		{
			"repository, all chosen",
			&AtprotoRepo{Spec: AtprotoRepoSpec{Access: AccessNone, EventSource: EventSourcePoll, StaleReads: StaleReadsAllow}},
			&AtprotoRepo{Spec: AtprotoRepoSpec{Access: AccessNone, EventSource: EventSourcePoll, StaleReads: StaleReadsAllow}},
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			scheme.Default(tc.in)
			if diff := cmp.Diff(tc.want, tc.in); diff != "" {
				t.Errorf("defaults differ (-want +got):\n%s", diff)
			}
			again := tc.in.DeepCopyObject()
			scheme.Default(again)
			if diff := cmp.Diff(tc.in, again); diff != "" {
				t.Errorf("a second defaulting changes the object:\n%s", diff)
			}
		})
	}
}
