package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// checkExport refuses to touch an export of our name that serves our kinds from
// elsewhere, or isn't ours. Whoever is bound would lose sight of his objects.
func (w *workspace) checkExport(ctx context.Context, manifest *unstructured.Unstructured) ([]Finding, error) {
	var want, have apisv1alpha2.APIExport
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(manifest.Object, &want); err != nil {
		return nil, err
	}
	exists, err := w.get(ctx, apiExports, want.Name, &have)
	if err != nil || !exists {
		return nil, err
	}
	faults := conflicts(&have, &want)
	if len(faults) > 0 {
		seen := w.bound(ctx, &have)
		for i := range faults {
			faults[i].Fault += "; " + seen
		}
	}
	return faults, nil
}

// conflicts between the export that is there and the one that is to be.
func conflicts(have, want *apisv1alpha2.APIExport) []Finding {
	wanted := map[string]*apisv1alpha2.ResourceSchemaStorageVirtual{}
	group := want.Spec.Resources[0].Group
	for _, r := range want.Spec.Resources {
		wanted[r.Name] = r.Storage.Virtual
	}
	in := fmt.Sprintf("the APIExport %s exports ", have.Name)
	other := "use another name: --export NAME"
	found := map[Finding][]string{}
	add := func(name, fault, remedy string) {
		f := Finding{fault, remedy}
		found[f] = append(found[f], name)
	}
	var foreign []string
	for _, r := range have.Spec.Resources {
		virtual, ours := wanted[r.Name]
		switch v := r.Storage.Virtual; {
		case r.Group != group:
			foreign = append(foreign, r.Name+"."+r.Group)
		case !ours:
			add(r.Name, "which this version doesn't serve", "run kcp init of the version that does, or take them out of the export")
		case v == nil:
			add(r.Name, "whose objects are in kcp (storage.crd)", "move them first, and take the resources out of the export; or "+other)
		case reference(v) != reference(virtual):
			add(r.Name, "which another server serves, by "+reference(v), other)
		case v.IdentityHash != virtual.IdentityHash:
			add(r.Name, fmt.Sprintf("with the identityHash %q, not %q", v.IdentityHash, virtual.IdentityHash),
				"make it what it should be with kubectl edit, if this export is of this server; or "+other)
		}
	}
	if len(foreign) > 0 && !managed(have) {
		add(strings.Join(foreign, ", "), "and isn't of this program", other)
	}
	var out []Finding
	for f, names := range found {
		out = append(out, Finding{in + strings.Join(names, ", ") + ", " + f.Fault, f.Remedy})
	}
	slices.SortFunc(out, func(a, b Finding) int { return strings.Compare(a.Fault, b.Fault) })
	return out
}

// reference of a virtual storage, in words.
func reference(v *apisv1alpha2.ResourceSchemaStorageVirtual) string {
	return fmt.Sprintf("%s.%s %s", v.Reference.Kind, ptr.Deref(v.Reference.APIGroup, ""), v.Reference.Name)
}

// managed tells whether an earlier Init applied the export.
func managed(e *apisv1alpha2.APIExport) bool {
	return slices.ContainsFunc(e.ManagedFields, func(m metav1.ManagedFieldsEntry) bool { return m.Manager == FieldManager })
}

// bound tells in words what lives behind an export, as far as that can be seen.
func (w *workspace) bound(ctx context.Context, e *apisv1alpha2.APIExport) string {
	workspaces, objects, err := w.count(ctx, e)
	if err != nil {
		return fmt.Sprintf("what is bound to it can't be seen (%v)", err)
	}
	return inWords(workspaces, objects)
}

// inWords says how many workspaces bind an export, and what they have.
func inWords(workspaces int, objects map[string]int) string {
	var kinds []string
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		if objects[name] > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", objects[name], name))
		}
	}
	if len(kinds) == 0 {
		kinds = []string{"no objects of ours"}
	}
	return fmt.Sprintf("%d workspaces bind it, with %s", workspaces, strings.Join(kinds, ", "))
}
