package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/install"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/validation"
)

// taken fails where the API would refuse a status.
func taken(t *testing.T, what string, d *Deployment, next v1alpha1.EphemeralInfraStatus) {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	old, is := &socialweb.Infra{}, &socialweb.Infra{}
	after := *d
	after.Status, after.ResourceVersion = next, "1"
	if err := scheme.Convert(after.Infra(), is, nil); err != nil {
		t.Fatal(err)
	}
	is.DeepCopyInto(old)
	old.Status = socialweb.InfraStatus{}
	if errs := validation.ValidateInfraStatusUpdate(is, old); len(errs) > 0 {
		t.Errorf("%s: %v", what, errs[0])
	}
}

// However often an account declares other contracts, while none comes to its end: its
// status can be written, what was dropped is released, and the others wait for room.
func TestManyDroppedContracts(t *testing.T) {
	d := infra("")
	standing := map[string]*v1alpha1.ComputeContract{}
	for set := range 4 {
		d.Spec.Contracts = nil
		for i := range maxRequests {
			d.Spec.Contracts = append(d.Spec.Contracts, v1alpha1.Contract{Name: fmt.Sprintf("s%d-c%d", set, i), State: requested})
		}
		for range 3 {
			o := &Observed{Deployment: d, Now: now, Gate: Verdict{Allowed: true}, Found: map[string]*v1alpha1.ComputeContract{}}
			for _, q := range Questions(d, o.Gate) {
				o.Found[q.Contract] = standing[q.Name]
			}
			got := Decide(o)
			if len(got.Status.Requests) > maxRequests {
				t.Fatalf("set %d: %d ComputeContracts at once", set, len(got.Status.Requests))
			}
			taken(t, fmt.Sprintf("set %d", set), d, got.Status)
			for _, a := range got.Actions {
				switch a.Do {
				case Create:
					cc := contract(a.Name + ":Pending")
					cc.Name, cc.UID, cc.Status.Phase = a.Name, types.UID(a.Name), v1alpha1.ComputeHeld
					standing[a.Name] = cc
				case Release:
					standing[a.Name].Spec.Release = true
				default:
					t.Errorf("set %d: %s", set, a.Do)
				}
			}
			d.Status = got.Status
		}
	}
	for name, cc := range standing {
		if !cc.Spec.Release {
			t.Errorf("%s is not released", name)
		}
	}
	if c := d.last("s3-c0"); len(standing) != maxRequests || c == nil || c.Phase != v1alpha1.ContractPhaseStaged || c.Message != messageFull {
		t.Errorf("%d ComputeContracts, and one that waits is %+v", len(standing), c)
	}
	// One is gone: there is room for one.
	first := d.Status.Requests[0].ComputeContract
	delete(standing, first)
	o := &Observed{Deployment: d, Now: now, Gate: Verdict{Allowed: true}, Found: map[string]*v1alpha1.ComputeContract{}}
	for range 2 {
		for _, q := range Questions(d, o.Gate) {
			o.Found[q.Contract] = standing[q.Name]
		}
		d.Status = Decide(o).Status
	}
	if len(d.Status.Requests) != maxRequests || d.request("s3-c0") == nil {
		t.Errorf("%d ComputeContracts, %v for the first that waited", len(d.Status.Requests), d.request("s3-c0"))
	}
}

// What a fulfiller says of a ComputeContract that another server has taken unchecked,
// or what is too long together, keeps no status from being written.
func TestWhatTheAPIWouldNotTake(t *testing.T) {
	for name, status := range map[string]v1alpha1.ComputeContractStatus{
		"no DID":       {Winner: "somebody", Message: strings.Repeat("é", 1000)},
		"a handle's":   {Receipt: &v1alpha1.ContractReceipt{URI: "at://alice.example.com/com.example.thing/1"}},
		"no record":    {Receipt: &v1alpha1.ContractReceipt{URI: "at://did:web:a.example"}},
		"no uri":       {Receipt: &v1alpha1.ContractReceipt{URI: "?"}},
		"long, as one": {Winner: "did:web:" + strings.Repeat("a", 3000)},
		"long together": {
			Winner: "did:web:" + strings.Repeat("a", 1000), Message: strings.Repeat("<", 1024),
			Receipt: &v1alpha1.ContractReceipt{URI: "at://did:web:" + strings.Repeat("a", 1000) + "/com.example.thing/" + strings.Repeat("b", 500)},
		},
	} {
		d := infra("")
		o := &Observed{Deployment: d, Now: now, Gate: Verdict{Allowed: true}, Found: map[string]*v1alpha1.ComputeContract{}}
		for i := range maxRequests {
			c := fmt.Sprintf("c%d", i)
			d.Spec.Contracts = append(d.Spec.Contracts, v1alpha1.Contract{Name: c, State: requested})
			d.Status.Requests = append(d.Status.Requests, v1alpha1.ContractRequest{Contract: c, ComputeContract: c, UID: types.UID(c)})
			cc := contract(c + ":Held")
			cc.Status, cc.Spec.VMName = status, ""
			cc.Status.Phase = v1alpha1.ComputeHeld
			o.Found[c] = cc
		}
		got := Decide(o)
		taken(t, name, d, got.Status)
		if c := got.Status.Contracts[maxRequests-1]; c.Phase != v1alpha1.ContractPhaseDeployed {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if maxRequests != validation.MaxContracts || maxStatusBytes != validation.MaxStatusBytes || maxDID != validation.MaxDID || maxURI != validation.MaxATURI {
		t.Error("the bounds aren't the API's")
	}
	good := v1alpha1.ContractStatus{Name: "c", Winner: "did:web:a.example", Receipt: "at://did:web:a.example/com.example.thing/1", Message: "m"}
	if got := admissible(good); got != good {
		t.Errorf("%+v", got)
	}
}

// A ComputeContract whose label names nothing that a contract can be called is sent
// away, and a status of such a contract is dropped.
func TestNamesThatNoContractHas(t *testing.T) {
	d := infra("")
	d.Status.Contracts = []v1alpha1.ContractStatus{{Name: "A_b", Phase: v1alpha1.ContractPhaseDeployed}}
	cc := contract("7:Held")
	cc.Labels[v1alpha1.LabelContract] = "A_b"
	for _, deleted := range []bool{false, true} {
		if deleted {
			d.DeletionTimestamp = at(0)
		}
		got := Decide(&Observed{Deployment: d, Now: now, Unnamed: []*v1alpha1.ComputeContract{cc}, Listed: true})
		taken(t, "a name", d, got.Status)
		if len(got.Actions) != 1 || got.Actions[0].Do != Release || len(got.Status.Requests) > 0 {
			t.Errorf("deleted %t: %+v", deleted, got.Actions)
		}
	}
}
