package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Columns is a table convertor: the name, the kind's own columns, the age, and
// the kind's columns of the wide form.
type Columns struct {
	// Narrow columns stand between NAME and AGE, Wide ones after AGE with -o wide
	// alone.
	Narrow, Wide []Column
}

// Column of a kind's table.
type Column struct {
	// Name as the column's head, Description for clients that ask.
	Name, Description string
	// Cell is the column's text for one object.
	Cell func(runtime.Object) string
}

var _ rest.TableConvertor = Columns{}

// ConvertToTable implements rest.TableConvertor for an object or a list.
func (c Columns) ConvertToTable(_ context.Context, obj, opts runtime.Object) (*metav1.Table, error) {
	t := &metav1.Table{}
	rows, err := table.MetaToTableRow(obj, func(obj runtime.Object, _ metav1.Object, name, age string) ([]any, error) {
		cells := []any{name}
		for _, col := range c.Narrow {
			cells = append(cells, col.Cell(obj))
		}
		cells = append(cells, age)
		for _, col := range c.Wide {
			cells = append(cells, col.Cell(obj))
		}
		return cells, nil
	})
	if err != nil {
		return nil, err
	}
	t.Rows = rows
	if l, err := meta.ListAccessor(obj); err == nil {
		t.ResourceVersion, t.Continue, t.RemainingItemCount = l.GetResourceVersion(), l.GetContinue(), l.GetRemainingItemCount()
	} else if m, err := meta.CommonAccessor(obj); err == nil {
		t.ResourceVersion = m.GetResourceVersion()
	}
	if o, ok := opts.(*metav1.TableOptions); !ok || !o.NoHeaders {
		t.ColumnDefinitions = c.definitions()
	}
	return t, nil
}

func (c Columns) definitions() []metav1.TableColumnDefinition {
	defs := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name", Description: "Name of the object, unique in its workspace."}}
	for _, col := range c.Narrow {
		defs = append(defs, metav1.TableColumnDefinition{Name: col.Name, Type: "string", Description: col.Description})
	}
	defs = append(defs, metav1.TableColumnDefinition{Name: "Age", Type: "string", Description: "Time since the object's creation."})
	for _, col := range c.Wide {
		defs = append(defs, metav1.TableColumnDefinition{Name: col.Name, Type: "string", Description: col.Description, Priority: 1})
	}
	return defs
}

// OrNone is s, or <none> where it is empty, as kubectl's tables have it.
func OrNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}
