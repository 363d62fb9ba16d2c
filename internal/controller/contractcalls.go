package controller

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Contract implements API.
func (c *calls) Contract(ctx context.Context, workspace, name string) (*v1alpha1.ComputeContract, error) {
	client, err := c.contracts.in(workspace)
	if err != nil {
		return nil, err
	}
	return client.ComputeContracts().Get(ctx, name, metav1.GetOptions{})
}

// ContractsOf implements API.
func (c *calls) ContractsOf(ctx context.Context, d *lifecycle.Deployment) ([]*v1alpha1.ComputeContract, error) {
	client, err := c.contracts.in(workspaceOf(d))
	if err != nil {
		return nil, err
	}
	list, err := client.ComputeContracts().List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(lifecycle.Labels(d)).String()})
	if err != nil {
		return nil, err
	}
	out := make([]*v1alpha1.ComputeContract, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

// Create implements API.
func (c *calls) Create(ctx context.Context, d *lifecycle.Deployment, a *lifecycle.Action) error {
	client, err := c.contracts.in(workspaceOf(d))
	if err != nil {
		return err
	}
	_, err = client.ComputeContracts().Apply(ctx, lifecycle.Application(d, a), metav1.ApplyOptions{FieldManager: lifecycle.FieldManager(d.UID)})
	return err
}

// Release implements API. It is a patch of the one field: an apply would have to
// repeat all that the manager has applied, and one that comes late, without the
// release, would take it back.
func (c *calls) Release(ctx context.Context, workspace, name string, uid types.UID) error {
	p := metaPatch{Spec: map[string]any{"release": true}}
	p.Metadata.UID = uid
	return c.patch(ctx, workspace, name, &p)
}

// Delete implements API.
func (c *calls) Delete(ctx context.Context, workspace, name string, uid types.UID) error {
	client, err := c.contracts.in(workspace)
	if err != nil {
		return err
	}
	return client.ComputeContracts().Delete(ctx, name, ofUID(uid))
}

// Withdraw implements API.
func (c *calls) Withdraw(ctx context.Context, cc *v1alpha1.ComputeContract) error {
	return c.patchStatus(ctx, cc, map[string]any{"phase": v1alpha1.ComputeReleased})
}

// Tell implements API.
func (c *calls) Tell(ctx context.Context, cc *v1alpha1.ComputeContract, conditions []metav1.Condition) error {
	return c.patchStatus(ctx, cc, map[string]any{"conditions": conditions})
}

// Free implements API.
func (c *calls) Free(ctx context.Context, cc *v1alpha1.ComputeContract) error {
	client, err := c.contracts.in(workspaceOf(cc))
	if err != nil {
		return err
	}
	patch, err := finalizersPatch(&cc.ObjectMeta, withoutOurs(cc.Finalizers))
	if err != nil {
		return err
	}
	_, err = client.ComputeContracts().Patch(ctx, cc.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

// patchStatus changes fields of the status of what has not changed since.
func (c *calls) patchStatus(ctx context.Context, cc *v1alpha1.ComputeContract, status map[string]any) error {
	p := metaPatch{Status: status}
	p.Metadata.UID, p.Metadata.ResourceVersion = cc.UID, cc.ResourceVersion
	return c.patch(ctx, workspaceOf(cc), cc.Name, &p, "status")
}

// patch sends only what changes: fields that this version doesn't know stay.
func (c *calls) patch(ctx context.Context, workspace, name string, p *metaPatch, subresources ...string) error {
	client, err := c.contracts.in(workspace)
	if err != nil {
		return err
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = client.ComputeContracts().Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: fieldManager}, subresources...)
	return err
}
