package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/registry/rest"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// GeneratedNameAnnotation of an audit event is the name of an object that was
// created by a generateName. The event's objectRef is made from the request, which
// doesn't know the name.
const GeneratedNameAnnotation = socialweb.GroupName + "/generated-name"

// Create implements rest.StandardStorage.
func (r *REST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	sent, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	named := sent.GetName() != ""
	ctx, v := r.kind.judged(ctx)
	validate = r.rehearsed(v.beforeCreate(validate), options.DryRun)
	out, err := r.Store.Create(ctx, obj, validate, options)
	if err != nil || named {
		return out, err
	}
	if created, err := meta.Accessor(out); err == nil {
		audit.AddAuditAnnotation(ctx, GeneratedNameAnnotation, created.GetName())
	}
	return out, nil
}
