package apiserver

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// appends tells whether a request may do something else when it is sent again: a JSON
// Patch may append to a list. Only here is it known which kind a patch is of.
func appends(r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return r.Method == http.MethodPatch && types.PatchType(strings.TrimSpace(kind)) == types.JSONPatchType
}
