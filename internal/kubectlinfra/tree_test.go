package kubectlinfra

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

const (
	bidder  = "did:web:bidder.example"
	receipt = "at://" + bidder + "/computer.socialweb.receipt/3k"
)

// computeContract creates one of an Infra's contract, and moves its status.
func (p plugin) computeContract(t *testing.T, o *v1alpha1.Infra, contract string, status v1alpha1.ComputeContractStatus) *v1alpha1.ComputeContract {
	t.Helper()
	api := p.Client.SocialwebV1alpha1().ComputeContracts()
	yes := true
	c, err := api.Create(t.Context(), &v1alpha1.ComputeContract{ObjectMeta: metav1.ObjectMeta{
		Name:   "infra-" + o.Name + "-" + contract,
		Labels: map[string]string{v1alpha1.LabelName: o.Name, v1alpha1.LabelContract: contract},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Infra", Name: o.Name, UID: o.UID, Controller: &yes,
		}},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Status = status
	if c, err = api.UpdateStatus(t.Context(), c, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// testTree: a deployment with what the API has of it.
func testTree(t *testing.T, p plugin) {
	list := contracts("front", "back")
	o := p.create(t, "tree", list...)
	c := p.computeContract(t, o, "front", v1alpha1.ComputeContractStatus{
		Phase: v1alpha1.ComputeHeld, Winner: bidder, Receipt: &v1alpha1.ContractReceipt{URI: receipt},
	})
	// Of another deployment with the same name in its labels.
	other := o.DeepCopy()
	other.UID = "another"
	p.computeContract(t, other, "other", v1alpha1.ComputeContractStatus{Phase: v1alpha1.ComputeHeld})
	p.observe(t, "tree", func(s *v1alpha1.InfraStatus) {
		s.Phase = v1alpha1.PhaseDeploying
		s.Contracts = []v1alpha1.ContractStatus{
			{Name: "front", Phase: v1alpha1.ContractPhaseDeployed, Winner: bidder, Receipt: receipt}, {Name: "back", Phase: v1alpha1.ContractPhaseRequesting},
		}
		s.Requests = []v1alpha1.ContractRequest{
			{Contract: "front", ComputeContract: c.Name, UID: c.UID}, {Contract: "back", ComputeContract: "infra-tree-back"},
		}
	})
	out := p.run(t, "tree", "tree")
	lines := strings.Split(out, "\n")
	for i, want := range []string{
		"NAME", "Infra/tree", "├─Contract/front", "│ └─ComputeContract/infra-tree-front", "│   └─Receipt/3k ",
		"└─Contract/back", "  └─ComputeContract/infra-tree-back", "",
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("line %d isn't of %q:\n%s", i, want, out)
		}
	}
	for i, want := range map[int]string{1: "Deploying", 2: "Staged   Deployed", 3: "won by " + bidder, 4: receipt, 6: "not created yet"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d lacks %q:\n%s", i, want, out)
		}
	}
	if strings.Contains(out, "other") {
		t.Errorf("a ComputeContract of another:\n%s", out)
	}
	if elsewhere := p.run(t, "tree", "tree", "--contracts-kubeconfig", p.Kubeconfig); !strings.Contains(elsewhere, "won by "+bidder) {
		t.Errorf("with ComputeContracts elsewhere:\n%s", elsewhere)
	}
	// Who may not see them sees the rest.
	f := &forest{unserved: "ComputeContracts aren't shown"}
	if n := f.deployment(asDeployment(p.get(t, "tree"))); n.children[1].children[0].detail != "not shown" {
		t.Errorf("without ComputeContracts: %+v", n.children[1].children[0])
	}
}

// testTreeCollection: the records of somebody else, as the collection serves them.
func testTreeCollection(t *testing.T, p plugin) {
	account, err := http.Post(p.PDS.URL+"/xrpc/com.atproto.server.createAccount", "application/json",
		strings.NewReader(`{"handle":"bob.test","email":"bob@bob.test","password":"of bob"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = account.Body.Close() }()
	bob, err := atproto.Login(t.Context(), p.PDS.URL, atproto.Credentials{Identifier: "bob.test", Password: "of bob"},
		atproto.LoginOptions{AllowPrivate: true, TrustPDS: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"of-bob", "too-many"} {
		record := map[string]any{"$type": "computer.socialweb.infra", "contracts": []any{map[string]any{"name": "vm", "state": "staged"}}}
		if _, err := bob.PutRecord(t.Context(), atproto.Key{Collection: "computer.socialweb.infra", RKey: name}, record, atproto.Swap{}); err != nil {
			t.Fatal(err)
		}
	}
	api := p.Client.SocialwebV1alpha1()
	repo := &v1alpha1.AtprotoRepo{ObjectMeta: metav1.ObjectMeta{Name: "bob"}, Spec: v1alpha1.AtprotoRepoSpec{DID: bob.DID(), PDS: p.PDS.URL, Access: v1alpha1.AccessRead}}
	if _, err := api.AtprotoRepos().Create(t.Context(), repo, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	most := int32(1)
	collection := &v1alpha1.InfraCollection{ObjectMeta: metav1.ObjectMeta{Name: "bobs"}}
	collection.Spec = v1alpha1.InfraCollectionSpec{RepoRef: v1alpha1.RepoReference{Name: "bob"}, MaxItems: &most}
	if _, err := api.InfraCollections().Create(t.Context(), collection, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := api.InfraCollections().Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=bobs"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		c, ok := e.Object.(*v1alpha1.InfraCollection)
		if ok && c.Status.Items == 1 && meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionTruncated) &&
			meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady) {
			break
		}
	}
	out := p.run(t, "tree", "infcol/bobs")
	lines := strings.Split(out, "\n")
	for i, want := range []string{"NAME", "InfraCollection/bobs", "└─Infra/", "  └─Contract/vm", "", "InfraCollection/bobs: Truncated=True, "} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("line %d isn't of %q:\n%s", i, want, out)
		}
	}
}

// TestForest: every shape of a line, drawn.
func TestForest(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	made := metav1.NewTime(now.Add(-90 * time.Second))
	infra := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "w", CreationTimestamp: made}}
	infra.Spec.Contracts = contracts("front", "old")
	infra.Spec.Contracts[0].State = v1alpha1.ContractRequested
	infra.Status = v1alpha1.InfraStatus{
		Phase: v1alpha1.PhaseDegraded,
		Contracts: []v1alpha1.ContractStatus{
			{Name: "front", Phase: v1alpha1.ContractPhaseFailed, Message: "no bid came"},
			{Name: "old", Phase: v1alpha1.ContractPhaseReleased, Receipt: receipt},
			{Name: "gone", Phase: v1alpha1.ContractPhaseReleasing},
		},
		Requests: []v1alpha1.ContractRequest{{Contract: "gone", ComputeContract: "infra-web-gone", UID: "x", Superseded: true}},
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "ContractsFailed", Message: "front"},
			{Type: v1alpha1.ConditionRecordValid, Status: metav1.ConditionTrue, Reason: "Valid"},
			{Type: v1alpha1.ConditionSyncConflict, Status: metav1.ConditionTrue, Reason: "RecordWon", Message: "edited"},
			{Type: "example.com/Theirs", Status: metav1.ConditionFalse, Reason: "No"},
		},
	}
	held := &v1alpha1.ComputeContract{ObjectMeta: metav1.ObjectMeta{
		Name: "infra-web-front", CreationTimestamp: made, Labels: map[string]string{v1alpha1.LabelContract: "front"},
	}}
	held.Spec.Release = true
	held.Status = v1alpha1.ComputeContractStatus{
		Phase: v1alpha1.ComputeHeld, Winner: bidder, Endpoint: "203.0.113.7:22", Receipt: &v1alpha1.ContractReceipt{URI: receipt, CID: "bafyexample"},
	}
	collection := &v1alpha1.InfraCollection{ObjectMeta: metav1.ObjectMeta{Name: "theirs", CreationTimestamp: made}}
	collection.Status.Children = []v1alpha1.CollectionChild{
		{URI: "at://did:web:them/c/a", Name: "web"}, {URI: "at://did:web:them/c/b", BoundBy: "mine"},
		{URI: "at://did:web:them/c/c", Conflict: v1alpha1.NameConflict}, {URI: "at://did:web:them/c/d", Name: "d"},
	}
	collection.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionTruncated, Status: metav1.ConditionTrue, Reason: "MaxItems", Message: "4 of 9"}}

	f := &forest{now: now, byOwner: map[types.UID][]*v1alpha1.ComputeContract{"w": {held}}}
	late := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "late", CreationTimestamp: made}}
	f.trees = []*node{f.collection(target{infraCollections, "theirs"}, collection, map[string]*deployment{"web": asDeployment(infra), "late": asDeployment(late)})}
	var out strings.Builder
	if err := f.print(&out); err != nil {
		t.Fatal(err)
	}
	const want = `
NAME                                    STATE       PHASE       READY   AGE   DETAIL
InfraCollection/theirs                                                  90s
├─Infra/web                                         Degraded    False   90s
│ ├─Contract/front                      Requested   Failed                    no bid came
│ │ └─ComputeContract/infra-web-front   Released    Held                90s   won by did:web:bidder.example
│ │   ├─Endpoint                                                              203.0.113.7:22
│ │   └─Receipt/3k                                                            at://did:web:bidder.example/computer.socialweb.receipt/3k, bafyexample
│ ├─Contract/old                        Staged      Released
│ │ └─Receipt/3k                                                              at://did:web:bidder.example/computer.socialweb.receipt/3k
│ └─Contract/gone                       (dropped)   Releasing
│   └─ComputeContract/infra-web-gone                                          gone
├─Record/b                                                                    bound by mine
├─Record/c                                                                    NameConflict
├─Record/d                                                                    served as d
└─Infra/late                                                            90s

InfraCollection/theirs: Truncated=True, MaxItems: 4 of 9
Infra/web: Ready=False, ContractsFailed: front
Infra/web: SyncConflict=True, RecordWon: edited
`
	if diff := cmp.Diff(want, "\n"+out.String()); diff != "" {
		t.Error(diff)
	}
}
