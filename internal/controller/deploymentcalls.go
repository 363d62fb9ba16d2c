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

// LetGo implements API.
func (c *calls) LetGo(ctx context.Context, d *lifecycle.Deployment) error {
	client, err := c.deployments.in(workspaceOf(d))
	if err != nil {
		return err
	}
	patch, err := withoutFinalizer(&d.ObjectMeta)
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: fieldManager}
	if d.Kind == lifecycle.KindEphemeralInfra {
		_, err = client.EphemeralInfras().Patch(ctx, d.Name, types.MergePatchType, patch, options)
	} else {
		_, err = client.Infras().Patch(ctx, d.Name, types.MergePatchType, patch, options)
	}
	return err
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

// withoutFinalizer takes ours off an object, provided that it is as it was read.
func withoutFinalizer(m *metav1.ObjectMeta) ([]byte, error) {
	var p metaPatch
	p.Metadata.UID, p.Metadata.ResourceVersion = m.UID, m.ResourceVersion
	left := slices.DeleteFunc(append([]string{}, m.Finalizers...), func(f string) bool { return f == v1alpha1.FinalizerRelease })
	p.Metadata.Finalizers = &left
	return json.Marshal(p)
}
