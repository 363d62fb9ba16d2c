package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	crds        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// automanaged marks an APIService that kube-apiserver made for CRDs, and would take
// back from whoever points it at a Service.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// hidden looks for CRDs that the APIService hides or would hide.
//
// Where the group and version are still theirs, that is a fault: to hand it over
// would hide their objects. Where the APIService is ours already, somebody made
// them behind it: they are hidden, and to stop serving would help nobody.
func (l look) hidden(ctx context.Context, r *Report) error {
	if l.APIService == "" {
		return nil
	}
	theirs, ours, err := l.owner(ctx)
	if err != nil {
		return err
	}
	version, group, _ := strings.Cut(l.APIService, ".")
	names, err := l.crds(ctx, group, version)
	if err != nil {
		return err
	}
	if theirs && len(names) == 0 {
		if names, err = l.discovered(group, version); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return nil
	}
	f := Finding{
		Fault: fmt.Sprintf("CustomResourceDefinitions %s serve %s/%s: the APIService %s hides their objects",
			strings.Join(names, ", "), group, version, l.APIService),
		Remedy: fmt.Sprintf("kubectl get %s -A -o yaml > saved.yaml && kubectl delete crd %s; then apply the APIService (again) and what was saved",
			strings.Join(names, ","), strings.Join(names, " ")),
	}
	if ours {
		r.Warnings = append(r.Warnings, f)
	} else {
		r.Findings = append(r.Findings, f)
	}
	return nil
}

// owner tells whose the APIService is; neither: there is none, or we may not look.
func (l look) owner(ctx context.Context) (theirs, ours bool, err error) {
	o, err := l.objects.Resource(apiServices).Get(ctx, l.APIService, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		return false, false, nil
	case err != nil:
		return false, false, fmt.Errorf("preflight: APIService %s: %w", l.APIService, err)
	}
	service, _, _ := unstructured.NestedMap(o.Object, "spec", "service")
	theirs = o.GetLabels()[automanaged] != "" || len(service) == 0
	return theirs, !theirs, nil
}

// crds are the CRDs of the group that serve the version. Who may not list them, as
// the server itself, finds none.
func (l look) crds(ctx context.Context, group, version string) ([]string, error) {
	list, err := l.objects.Resource(crds).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("preflight: CustomResourceDefinitions: %w", err)
	}
	var out []string
	for i := range list.Items {
		of, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "group")
		versions, _, _ := unstructured.NestedSlice(list.Items[i].Object, "spec", "versions")
		if of == group && slices.ContainsFunc(versions, func(v any) bool {
			m, _ := v.(map[string]any)
			return m["name"] == version && m["served"] == true
		}) {
			out = append(out, list.Items[i].GetName())
		}
	}
	return out, nil
}

// discovered names the CRDs by what the group serves, while that is theirs: it needs
// no right to read CRDs.
func (l look) discovered(group, version string) ([]string, error) {
	list, err := l.client.Discovery().ServerResourcesForGroupVersion(group + "/" + version)
	switch {
	case apierrors.IsNotFound(err): // the last one is being deleted
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("preflight: %s/%s: %w", group, version, err)
	}
	var out []string
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") {
			out = append(out, r.Name+"."+group)
		}
	}
	slices.Sort(out)
	return out, nil
}
