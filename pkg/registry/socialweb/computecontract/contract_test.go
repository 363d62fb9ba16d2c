package computecontract

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// start is when the tests begin; a fraction of a second doesn't come back from JSON.
var start = time.Date(2026, 11, 30, 3, 0, 0, 7e8, time.UTC)

func at(minute int) *metav1.Time {
	t := metav1.NewTime(start.Truncate(time.Second).Add(time.Duration(minute) * time.Minute))
	return &t
}

// The times are those at which a phase was reached; a writer may know them better, and
// one that says nothing takes none away.
func TestTimes(t *testing.T) {
	type phases = []socialweb.ComputeContractPhase
	for name, c := range map[string]struct {
		phases                    phases // one a minute, from the first on
		requested, held, finished int    // minutes; -1: never
	}{
		"untouched":             {phases{socialweb.ComputePending, socialweb.ComputePending}, -1, -1, -1},
		"the whole way":         {phases{socialweb.ComputeRequesting, socialweb.ComputeHeld, socialweb.ComputeHeld, socialweb.ComputeReleasing, socialweb.ComputeReleased}, 0, 1, 4},
		"held at once":          {phases{socialweb.ComputeHeld, socialweb.ComputeFailed}, 0, 0, 1},
		"released while asking": {phases{socialweb.ComputeRequesting, socialweb.ComputeReleasing, socialweb.ComputeReleased}, 0, -1, 2},
		"never taken on":        {phases{socialweb.ComputePending, socialweb.ComputeReleased, socialweb.ComputeReleased}, -1, -1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakePassiveClock(start)
			k := Kind(clk)
			old := k.New().(*socialweb.ComputeContract)
			k.BeginStatus(old)
			if old.Status.Phase != socialweb.ComputePending {
				t.Fatalf("a new one is %q", old.Status.Phase)
			}
			for i, phase := range c.phases {
				clk.SetTime(start.Add(time.Duration(i) * time.Minute))
				now := &socialweb.ComputeContract{Status: socialweb.ComputeContractStatus{Phase: phase}}
				k.CompleteStatus(now, old)
				old = now
			}
			for what, x := range map[string]struct {
				got  *metav1.Time
				want int
			}{"requestedAt": {old.Status.RequestedAt, c.requested}, "heldAt": {old.Status.HeldAt, c.held}, "finishedAt": {old.Status.FinishedAt, c.finished}} {
				want := at(x.want)
				if x.want < 0 {
					want = nil
				}
				if !x.got.Equal(want) {
					t.Errorf("%s %v, want %v", what, x.got, want)
				}
			}
		})
	}
}

func TestTimesOfTheWriterStand(t *testing.T) {
	now := socialweb.ComputeContractStatus{Phase: socialweb.ComputeHeld, RequestedAt: at(1), HeldAt: at(2)}
	completeTimes(&now, &socialweb.ComputeContractStatus{Phase: socialweb.ComputePending}, clocktesting.NewFakePassiveClock(start))
	if !now.RequestedAt.Equal(at(1)) || !now.HeldAt.Equal(at(2)) || now.FinishedAt != nil {
		t.Errorf("%+v", now)
	}
}

func TestTable(t *testing.T) {
	k := Kind(clocktesting.NewFakePassiveClock(start))
	created := metav1.NewTime(time.Now().Add(-100 * 24 * time.Hour))
	held := socialweb.ComputeContract{
		ObjectMeta: metav1.ObjectMeta{Name: "one", CreationTimestamp: created},
		Spec:       socialweb.ComputeContractSpec{Image: "debian-13", Release: true},
		Status: socialweb.ComputeContractStatus{
			Phase: socialweb.ComputeHeld, Winner: "did:web:b.example.com", Endpoint: "192.0.2.7:22", Receipt: &socialweb.ContractReceipt{URI: "at://did:web:b.example.com/a.b.c/1"},
		},
	}
	bare := socialweb.ComputeContract{ObjectMeta: metav1.ObjectMeta{Name: "two", CreationTimestamp: created}, Status: socialweb.ComputeContractStatus{Phase: socialweb.ComputePending}}
	table, err := k.Columns.ConvertToTable(t.Context(), &socialweb.ComputeContractList{Items: []socialweb.ComputeContract{held, bare}}, &metav1.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{
		{"Name", "Phase", "Winner", "Release", "Age", "Endpoint", "Receipt", "Image"},
		{"one", "Held", "did:web:b.example.com", "true", "100d", "192.0.2.7:22", "at://did:web:b.example.com/a.b.c/1", "debian-13"},
		{"two", "Pending", "<none>", "false", "100d", "<none>", "<none>", "<none>"},
	}
	got := [][]any{nil}
	for _, d := range table.ColumnDefinitions {
		got[0] = append(got[0], d.Name)
	}
	for _, r := range table.Rows {
		got = append(got, r.Cells)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
