package infracollection

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

// columns of both kinds.
func columns(p parts) registry.Columns {
	return registry.Columns{
		Narrow: []registry.Column{
			{Name: "Repo", Description: "AtprotoRepo whose records are served.", Cell: func(o runtime.Object) string {
				spec, _ := p(o)
				return registry.OrNone(spec.RepoRef.Name)
			}},
			{Name: "Items", Description: "Records that are served in the workspace.", Cell: func(o runtime.Object) string {
				_, status := p(o)
				return strconv.FormatInt(status.Items, 10)
			}},
			{Name: "Ready", Description: "Whether the records are served.", Cell: func(o runtime.Object) string {
				_, status := p(o)
				return ready(status)
			}},
			{Name: "Execution", Description: "Whether the contracts of the records run, where the collection says so.", Cell: func(o runtime.Object) string {
				spec, _ := p(o)
				return registry.OrNone(string(spec.Execution))
			}},
		},
	}
}

func ready(s *socialweb.InfraCollectionStatus) string {
	if c := meta.FindStatusCondition(s.Conditions, socialweb.ConditionReady); c != nil {
		return string(c.Status)
	}
	return "Unknown"
}
