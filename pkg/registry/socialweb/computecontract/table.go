package computecontract

import (
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/pkg/registry"
)

var columns = registry.Columns{
	Narrow: []registry.Column{
		{Name: "Phase", Description: "How far the contract has come.", Cell: func(o runtime.Object) string {
			return registry.OrNone(string(contract(o).Status.Phase))
		}},
		{Name: "Winner", Description: "DID of the bidder that holds the contract.", Cell: func(o runtime.Object) string {
			return registry.OrNone(contract(o).Status.Winner)
		}},
		{Name: "Release", Description: "Whether the contract is to be given back.", Cell: func(o runtime.Object) string {
			return strconv.FormatBool(contract(o).Spec.Release)
		}},
	},
	Wide: []registry.Column{
		{Name: "Endpoint", Description: "Where the guest is reached.", Cell: func(o runtime.Object) string {
			return registry.OrNone(contract(o).Status.Endpoint)
		}},
		{Name: "Receipt", Description: "Address of the record in which the bidder confirms the contract.", Cell: receipt},
		{Name: "Image", Description: "What the guest starts from.", Cell: func(o runtime.Object) string {
			return registry.OrNone(contract(o).Spec.Image)
		}},
	},
}

func receipt(o runtime.Object) string {
	r := contract(o).Status.Receipt
	if r == nil {
		return registry.OrNone("")
	}
	return registry.OrNone(r.URI)
}
