package kubectlinfra

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/install"
	"socialweb.computer/infra-apiserver/pkg/registry/socialweb/record"
)

// Marks of rows.
const (
	same    = " "
	differs = "!"
	beyond  = "+"
)

// row compares one field of the record; "" where a side has none.
type row struct{ mark, path, record, object string }

// scheme converts to the types that the mapping to records speaks.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	install.Install(s)
	return s
}()

// compare holds the record against the one that the server would write of the object.
func (p *pair) compare() ([]row, error) {
	mapper := record.Infra()
	if p.kind == ephemeralInfras {
		mapper = record.EphemeralInfra()
	}
	obj := mapper.New()
	if err := scheme.Convert(p.object, obj, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", p.plain(), err)
	}
	ours, err := mapper.Encode(obj, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.plain(), err)
	}
	full := ours
	// A record that can't be read as the kind leaves no remainder: all is compared.
	if rest, err := mapper.Decode(p.record.Value, mapper.New()); err == nil {
		if full, err = mapper.Encode(obj, rest); err != nil {
			return nil, fmt.Errorf("%s: %w", p.plain(), err)
		}
	}
	inRecord, err := flatten(p.record.Value)
	if err != nil {
		return nil, err
	}
	inObject, err := flatten(full)
	if err != nil {
		return nil, err
	}
	alone, err := flatten(ours)
	if err != nil {
		return nil, err
	}
	return rowsOf(inRecord, inObject, sets.KeySet(alone)), nil
}

// rowsOf are the fields of both sides in order; known are those that the object alone
// would give a record.
func rowsOf(inRecord, inObject map[string]string, known sets.Set[string]) []row {
	paths := sets.KeySet(inRecord).Union(sets.KeySet(inObject)).UnsortedList()
	slices.SortFunc(paths, comparePaths)
	rows := make([]row, len(paths))
	for i, path := range paths {
		r := row{same, path, inRecord[path], inObject[path]}
		switch {
		case r.record != r.object:
			r.mark = differs
		case !known.Has(path):
			r.mark, r.object = beyond, ""
		}
		rows[i] = r
	}
	return rows
}
