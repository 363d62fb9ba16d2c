package deployment

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

func TestTable(t *testing.T) {
	spec := socialweb.InfraSpec{Contracts: []socialweb.Contract{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	published := socialweb.InfraStatus{
		Phase: socialweb.PhaseDeploying,
		Contracts: []socialweb.ContractStatus{
			{Name: "a", Phase: socialweb.ContractPhaseDeployed},
			{Name: "b", Phase: socialweb.ContractPhaseRequesting},
			{Name: "dropped", Phase: socialweb.ContractPhaseDeployed},
		},
		Record: &socialweb.RecordStatus{URI: "at://did:plc:x/computer.socialweb.infra/self", CID: "bafy", Direction: socialweb.DirectionPushed},
	}
	created := metav1.NewTime(time.Now().Add(-100 * 24 * time.Hour))
	wide := []any{"at://did:plc:x/computer.socialweb.infra/self", "bafy", "Pushed"}
	for name, c := range map[string]struct {
		list runtime.Object
		want [][]any
	}{
		"Infra": {
			list: &socialweb.InfraList{Items: []socialweb.Infra{
				{ObjectMeta: metav1.ObjectMeta{Name: "one", CreationTimestamp: created}, Spec: spec, Status: published},
				{ObjectMeta: metav1.ObjectMeta{Name: "two", CreationTimestamp: created}},
			}},
			want: [][]any{
				append([]any{"one", "Deploying", "1/3", "self", "100d"}, wide...),
				{"two", "<none>", "0/0", "Private", "100d", "<none>", "<none>", "<none>"},
			},
		},
		"EphemeralInfra": {
			list: &socialweb.EphemeralInfra{
				ObjectMeta: metav1.ObjectMeta{Name: "one", CreationTimestamp: created},
				Spec:       socialweb.EphemeralInfraSpec{InfraSpec: spec},
				Status:     socialweb.EphemeralInfraStatus{InfraStatus: published},
			},
			want: [][]any{append([]any{"one", "Deploying", "1/3", "self", "100d"}, wide...)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := Infra()
			if name == "EphemeralInfra" {
				k = EphemeralInfra()
			}
			table, err := k.Columns.ConvertToTable(t.Context(), c.list, &metav1.TableOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var head []string
			for _, d := range table.ColumnDefinitions {
				head = append(head, d.Name)
			}
			if want := []string{"Name", "Phase", "Contracts", "Record", "Age", "URI", "CID", "Direction"}; !reflect.DeepEqual(head, want) {
				t.Errorf("head %v, want %v", head, want)
			}
			var rows [][]any
			for _, r := range table.Rows {
				rows = append(rows, r.Cells)
			}
			if !reflect.DeepEqual(rows, c.want) {
				t.Errorf("rows %v, want %v", rows, c.want)
			}
			table, err = k.Columns.ConvertToTable(t.Context(), c.list, &metav1.TableOptions{NoHeaders: true})
			if err != nil || len(table.ColumnDefinitions) != 0 || len(table.Rows) != len(c.want) {
				t.Errorf("without headers: %d columns, %d rows, %v", len(table.ColumnDefinitions), len(table.Rows), err)
			}
		})
	}
}

// A list's table is a list: clients page and watch by it.
func TestTableOfAListKeepsItsMetadata(t *testing.T) {
	left := int64(7)
	list := &socialweb.InfraList{ListMeta: metav1.ListMeta{ResourceVersion: "42", Continue: "next", RemainingItemCount: &left}}
	table, err := Infra().Columns.ConvertToTable(t.Context(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	if table.ResourceVersion != "42" || table.Continue != "next" || table.RemainingItemCount != &left {
		t.Errorf("metadata %+v", table.ListMeta)
	}
}
