package servingcert

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// watch wakes the loop whenever the Secret changes, until ctx ends. It names the
// Secret, so that rights to that one are enough.
func (r *Rotator) watch(ctx context.Context) {
	factory := informers.NewSharedInformerFactoryWithOptions(r.config.Client, 0,
		informers.WithNamespace(r.config.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, r.config.Name).String()
		}))
	informer := factory.Core().V1().Secrets().Informer()
	// It can't fail: the informer doesn't run yet.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { r.nudge() },
		UpdateFunc: func(any, any) { r.nudge() },
		DeleteFunc: func(any) { r.nudge() },
	})
	factory.StartWithContext(ctx)
	<-ctx.Done()
	factory.Shutdown()
}

func (r *Rotator) nudge() {
	select {
	case r.wake <- struct{}{}:
	default: // a look is due already
	}
}
