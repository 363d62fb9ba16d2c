package kubectlinfra

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	clientscheme "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/scheme"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
)

// client reads and patches objects of any of the kinds.
type client struct {
	api typed.SocialwebV1alpha1Interface
}

func (c *client) get(ctx context.Context, t target) (runtime.Object, error) {
	obj := t.kind.new()
	err := c.api.RESTClient().Get().Resource(t.kind.resource).Name(t.name).Do(ctx).Into(obj)
	return obj, err
}

func (c *client) deployment(ctx context.Context, t target) (*deployment, error) {
	obj, err := c.get(ctx, t)
	if err != nil {
		return nil, err
	}
	return asDeployment(obj), nil
}

func (c *client) repo(ctx context.Context, name string) (*v1alpha1.AtprotoRepo, error) {
	return c.api.AtprotoRepos().Get(ctx, name, metav1.GetOptions{})
}

// pageSize is kubectl's own.
const pageSize = 500

// each calls back for all objects that the options choose.
func (c *client) each(ctx context.Context, k *kind, o metav1.ListOptions, do func(runtime.Object)) error {
	o.Limit = pageSize
	for {
		list := k.newList()
		err := c.api.RESTClient().Get().Resource(k.resource).VersionedParams(&o, clientscheme.ParameterCodec).Do(ctx).Into(list)
		if err != nil {
			return err
		}
		if err := meta.EachListItem(list, func(obj runtime.Object) error { do(obj); return nil }); err != nil {
			return err
		}
		m, err := meta.ListAccessor(list)
		if err != nil {
			return err
		}
		if o.Continue = m.GetContinue(); o.Continue == "" {
			return nil
		}
	}
}

func (c *client) patch(ctx context.Context, t target, data []byte, o metav1.PatchOptions) (runtime.Object, error) {
	obj := t.kind.new()
	err := c.api.RESTClient().Patch(types.StrategicMergePatchType).Resource(t.kind.resource).Name(t.name).
		VersionedParams(&o, clientscheme.ParameterCodec).Body(data).Do(ctx).Into(obj)
	return obj, err
}

// deployment is an Infra or an EphemeralInfra.
type deployment struct {
	target
	object runtime.Object
	meta   *metav1.ObjectMeta
	spec   *v1alpha1.InfraSpec
	status *v1alpha1.InfraStatus
}

func asDeployment(obj runtime.Object) *deployment {
	switch o := obj.(type) {
	case *v1alpha1.Infra:
		return &deployment{target{infras, o.Name}, o, &o.ObjectMeta, &o.Spec, &o.Status}
	case *v1alpha1.EphemeralInfra:
		return &deployment{target{ephemeralInfras, o.Name}, o, &o.ObjectMeta, &o.Spec.InfraSpec, &o.Status.InfraStatus}
	}
	return nil
}

// phaseOf a contract; "": nothing was observed of it.
func (d *deployment) phaseOf(contract string) v1alpha1.ContractPhase {
	for i := range d.status.Contracts {
		if d.status.Contracts[i].Name == contract {
			return d.status.Contracts[i].Phase
		}
	}
	return ""
}

// declared are the names of the contracts, in order.
func (d *deployment) declared() []string {
	out := make([]string, len(d.spec.Contracts))
	for i := range d.spec.Contracts {
		out[i] = d.spec.Contracts[i].Name
	}
	return out
}
