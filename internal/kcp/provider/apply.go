package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// outcome of an apply.
type outcome string

const (
	created    outcome = "created"
	configured outcome = "configured"
	unchanged  outcome = "unchanged"
)

// apply an object on the server. A dry run says what would become of it.
func (w *workspace) apply(ctx context.Context, obj *unstructured.Unstructured, dryRun, force bool) (outcome, error) {
	client, err := w.at(obj)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(obj)
	if err != nil {
		return "", err
	}
	before, err := client.Get(ctx, obj.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return "", err
	}
	exists := err == nil
	o := metav1.PatchOptions{FieldManager: FieldManager, Force: &force, FieldValidation: metav1.FieldValidationStrict}
	if dryRun {
		o.DryRun = []string{metav1.DryRunAll}
	}
	after, err := client.Patch(ctx, obj.GetName(), types.ApplyPatchType, body, o)
	switch {
	case err != nil:
		return "", err
	case !exists:
		return created, nil
	case equality.Semantic.DeepEqual(content(before, obj), content(after, obj)):
		return unchanged, nil
	default:
		return configured, nil
	}
}

// content of an object that an apply may have changed. kcp writes the rest at any time:
// annotations, and the status but of what has one in its manifest.
func content(u, manifest *unstructured.Unstructured) map[string]any {
	c := u.DeepCopy()
	c.SetManagedFields(nil)
	c.SetResourceVersion("")
	c.SetGeneration(0)
	c.SetAnnotations(nil)
	if manifest.Object["status"] == nil {
		delete(c.Object, "status")
	}
	return c.Object
}

// label of an object, as kubectl prints it.
func label(obj *unstructured.Unstructured) string {
	gk := obj.GroupVersionKind().GroupKind()
	name := strings.ToLower(gk.Kind)
	if gk.Group != "" {
		name += "." + gk.Group
	}
	return name + "/" + obj.GetName()
}

// rehearse applies nothing, and finds what an apply would be refused for.
func (w *workspace) rehearse(ctx context.Context, obj *unstructured.Unstructured, force bool) *Finding {
	_, err := w.apply(ctx, obj, true, force)
	var status apierrors.APIStatus
	switch {
	case err == nil || isUndefined(obj, err):
		return nil
	case apierrors.IsConflict(err) && errors.As(err, &status):
		return &Finding{
			fmt.Sprintf("%s has fields that somebody else manages: %v", label(obj), err),
			"look whether they may be changed (kubectl get --show-managed-fields), then run it with --force-conflicts",
		}
	case apierrors.IsForbidden(err):
		return &Finding{
			fmt.Sprintf("%s is refused: %v", label(obj), err),
			"run it as an administrator of the provider workspace, unless the message says something else",
		}
	default:
		return &Finding{fmt.Sprintf("%s can't be applied: %v", label(obj), err), "see the message"}
	}
}

// isUndefined: an object wasn't found because its definition isn't there yet, which is
// applied before it.
func isUndefined(obj *unstructured.Unstructured, err error) bool {
	return apierrors.IsNotFound(err) && obj.GetKind() == "InfraEndpointSlice"
}
