package deployment

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

// private is the RECORD of an object that has none.
const private = "Private"

// columns of both kinds.
func columns(p parts) registry.Columns {
	record := func(get func(socialweb.RecordStatus) string) func(runtime.Object) string {
		return func(o runtime.Object) string {
			_, status := p(o)
			if status.Record == nil {
				return registry.OrNone("")
			}
			return registry.OrNone(get(*status.Record))
		}
	}
	return registry.Columns{
		Narrow: []registry.Column{
			{Name: "Phase", Description: "Sum of the contracts' phases.", Cell: func(o runtime.Object) string {
				_, status := p(o)
				return registry.OrNone(string(status.Phase))
			}},
			{Name: "Contracts", Description: "Contracts that are deployed, of those that are declared.", Cell: func(o runtime.Object) string {
				return contracts(p(o))
			}},
			{Name: "Record", Description: "Key of the record, or Private where there is none.", Cell: func(o runtime.Object) string {
				_, status := p(o)
				return recordKey(status.Record)
			}},
		},
		Wide: []registry.Column{
			{Name: "URI", Description: "Address of the record.", Cell: record(func(r socialweb.RecordStatus) string { return r.URI })},
			{Name: "CID", Description: "Content of the record that the object reflects.", Cell: record(func(r socialweb.RecordStatus) string { return r.CID })},
			{Name: "Direction", Description: "Which way the declaration went last.", Cell: record(func(r socialweb.RecordStatus) string { return string(r.Direction) })},
		},
	}
}

// contracts counts the declared contracts, and those of them that are deployed.
func contracts(spec *socialweb.InfraSpec, status *socialweb.InfraStatus) string {
	phases := make(map[string]socialweb.ContractPhase, len(status.Contracts))
	for _, c := range status.Contracts {
		phases[c.Name] = c.Phase
	}
	deployed := 0
	for _, c := range spec.Contracts {
		if phases[c.Name] == socialweb.ContractPhaseDeployed {
			deployed++
		}
	}
	return fmt.Sprintf("%d/%d", deployed, len(spec.Contracts))
}

// recordKey is the last segment of the record's at-uri.
func recordKey(r *socialweb.RecordStatus) string {
	if r == nil || r.URI == "" {
		return private
	}
	return r.URI[strings.LastIndexByte(r.URI, '/')+1:]
}
