package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// fieldManager of everything but the applies.
const fieldManager = "infra-controller"

// calls implements API with the generated clients. Contracts may be another server's.
type calls struct{ deployments, contracts *clients }

var _ API = (*calls)(nil)

// Deployment implements API.
func (c *calls) Deployment(ctx context.Context, k Key) (*lifecycle.Deployment, error) {
	client, err := c.deployments.in(k.Workspace)
	if err != nil {
		return nil, err
	}
	if k.Kind == lifecycle.KindEphemeralInfra {
		o, err := client.EphemeralInfras().Get(ctx, k.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return lifecycle.FromEphemeralInfra(o), nil
	}
	o, err := client.Infras().Get(ctx, k.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return lifecycle.FromInfra(o), nil
}

// UpdateStatus implements API.
func (c *calls) UpdateStatus(ctx context.Context, d *lifecycle.Deployment) (*lifecycle.Deployment, error) {
	client, err := c.deployments.in(workspaceOf(d))
	if err != nil {
		return nil, err
	}
	options := metav1.UpdateOptions{FieldManager: fieldManager}
	if d.Kind == lifecycle.KindEphemeralInfra {
		o, err := client.EphemeralInfras().UpdateStatus(ctx, d.EphemeralInfra(), options)
		if err != nil {
			return nil, err
		}
		return lifecycle.FromEphemeralInfra(o), nil
	}
	o, err := client.Infras().UpdateStatus(ctx, d.Infra(), options)
	if err != nil {
		return nil, err
	}
	return lifecycle.FromInfra(o), nil
}

// Hold implements API.
func (c *calls) Hold(ctx context.Context, d *lifecycle.Deployment) (*lifecycle.Deployment, error) {
	return c.setFinalizers(ctx, d, append(slices.Clone(d.Finalizers), v1alpha1.FinalizerRelease))
}

// LetGo implements API.
func (c *calls) LetGo(ctx context.Context, d *lifecycle.Deployment) error {
	_, err := c.setFinalizers(ctx, d, withoutOurs(d.Finalizers))
	return err
}

func (c *calls) setFinalizers(ctx context.Context, d *lifecycle.Deployment, to []string) (*lifecycle.Deployment, error) {
	client, err := c.deployments.in(workspaceOf(d))
	if err != nil {
		return nil, err
	}
	patch, err := finalizersPatch(&d.ObjectMeta, to)
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: fieldManager}
	if d.Kind == lifecycle.KindEphemeralInfra {
		o, err := client.EphemeralInfras().Patch(ctx, d.Name, types.MergePatchType, patch, options)
		if err != nil {
			return nil, err
		}
		return lifecycle.FromEphemeralInfra(o), nil
	}
	o, err := client.Infras().Patch(ctx, d.Name, types.MergePatchType, patch, options)
	if err != nil {
		return nil, err
	}
	return lifecycle.FromInfra(o), nil
}

// End implements API.
func (c *calls) End(ctx context.Context, d *lifecycle.Deployment) error {
	client, err := c.deployments.in(workspaceOf(d))
	if err != nil {
		return err
	}
	if d.Kind != lifecycle.KindEphemeralInfra {
		return fmt.Errorf("%s %s doesn't end by itself", d.Kind, d.Name)
	}
	return client.EphemeralInfras().Delete(ctx, d.Name, ofUID(d.UID))
}

func ofUID(uid types.UID) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
}

// metaPatch is a merge patch of what an object must be, and of what it shall become.
type metaPatch struct {
	Metadata struct {
		UID             types.UID `json:"uid,omitempty"`
		ResourceVersion string    `json:"resourceVersion,omitempty"`
		Finalizers      *[]string `json:"finalizers,omitempty"`
	} `json:"metadata"`
	Spec   map[string]any `json:"spec,omitempty"`
	Status map[string]any `json:"status,omitempty"`
}

// finalizersPatch sets the finalizers of an object, provided that it is as it was
// read.
func finalizersPatch(m *metav1.ObjectMeta, to []string) ([]byte, error) {
	var p metaPatch
	p.Metadata.UID, p.Metadata.ResourceVersion, p.Metadata.Finalizers = m.UID, m.ResourceVersion, &to
	return json.Marshal(p)
}

// withoutOurs are the finalizers of others. It is never nil, for null is no list.
func withoutOurs(finalizers []string) []string {
	return slices.DeleteFunc(append([]string{}, finalizers...), func(f string) bool { return f == v1alpha1.FinalizerRelease })
}
