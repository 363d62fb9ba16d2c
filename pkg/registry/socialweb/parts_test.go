package socialweb_test

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// part is a field of the object, in place.
func part(t *testing.T, o runtime.Object, name string) reflect.Value {
	t.Helper()
	f := reflect.ValueOf(o).Elem().FieldByName(name)
	if !f.IsValid() {
		t.Fatalf("%T has no %s", o, name)
	}
	return f
}

func equal(t *testing.T, a, b reflect.Value) bool {
	t.Helper()
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
