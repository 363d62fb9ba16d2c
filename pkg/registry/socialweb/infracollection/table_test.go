package infracollection

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

func TestTable(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "all", CreationTimestamp: metav1.NewTime(time.Now().Add(-100 * 24 * time.Hour))}
	spec := socialweb.InfraCollectionSpec{RepoRef: socialweb.RepoReference{Name: "main"}, Execution: socialweb.ExecutionFollow}
	status := socialweb.InfraCollectionStatus{Items: 7, Conditions: []metav1.Condition{{Type: socialweb.ConditionReady, Status: metav1.ConditionTrue}}}
	infras, ephemeral := InfraCollection(), EphemeralInfraCollection()
	for _, c := range []struct {
		kind registry.Kind
		obj  runtime.Object
		want string
	}{
		{infras, &socialweb.InfraCollection{ObjectMeta: meta, Spec: spec, Status: status}, "[all main 7 True Follow 100d]"},
		{ephemeral, &socialweb.EphemeralInfraCollection{ObjectMeta: meta, Spec: spec, Status: status}, "[all main 7 True Follow 100d]"},
		{infras, &socialweb.InfraCollection{ObjectMeta: meta}, "[all <none> 0 Unknown <none> 100d]"},
	} {
		table, err := c.kind.Columns.ConvertToTable(t.Context(), c.obj, &metav1.TableOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var head []string
		for _, d := range table.ColumnDefinitions {
			head = append(head, d.Name)
		}
		if fmt.Sprint(head) != "[Name Repo Items Ready Execution Age]" || fmt.Sprint(table.Rows[0].Cells) != c.want {
			t.Errorf("%v %v, want %s", head, table.Rows[0].Cells, c.want)
		}
	}
}
