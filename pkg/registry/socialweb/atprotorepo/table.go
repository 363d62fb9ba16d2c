package atprotorepo

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

var columns = registry.Columns{
	Narrow: []registry.Column{
		{Name: "Account", Description: "Handle of the account, or its DID where the handle isn't known.", Cell: account},
		{Name: "Access", Description: "What may be done with the repository in effect.", Cell: access},
		{Name: "Default", Description: "Whether objects that name no repository are in this one.", Cell: func(o runtime.Object) string {
			return strconv.FormatBool(repo(o).Spec.Default)
		}},
		{Name: "Ready", Description: "Whether the repository can be read, and written where its access says so.", Cell: ready},
		{Name: "Rev", Description: "Revision up to which the repository's records are served.", Cell: func(o runtime.Object) string {
			return registry.OrNone(repo(o).Status.IngestedRev)
		}},
	},
	Wide: []registry.Column{
		{Name: "DID", Description: "DID of the account.", Cell: func(o runtime.Object) string { return registry.OrNone(did(repo(o))) }},
		{Name: "PDS", Description: "Base URL of the PDS in use.", Cell: func(o runtime.Object) string {
			return registry.OrNone(firstOf(repo(o).Status.PDS, repo(o).Spec.PDS))
		}},
	},
}

func account(o runtime.Object) string {
	r := repo(o)
	return registry.OrNone(firstOf(r.Status.Handle, r.Spec.Handle, did(r)))
}

func did(r *socialweb.AtprotoRepo) string { return firstOf(r.Status.DID, r.Spec.DID) }

// access is what is granted, or what is asked for while nothing was observed.
func access(o runtime.Object) string {
	r := repo(o)
	return registry.OrNone(firstOf(string(r.Status.Access), string(r.Spec.Access)))
}

func ready(o runtime.Object) string {
	if c := meta.FindStatusCondition(repo(o).Status.Conditions, socialweb.ConditionReady); c != nil {
		return string(c.Status)
	}
	return "Unknown"
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
