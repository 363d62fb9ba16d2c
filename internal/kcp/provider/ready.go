package provider

import (
	"context"
	"fmt"
	"strings"
	"time"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	cachev1alpha1 "github.com/kcp-dev/sdk/apis/cache/v1alpha1"
	conditionsv1alpha1 "github.com/kcp-dev/sdk/apis/third_party/conditions/apis/conditions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// poll is how often kcp is asked how far it is.
	poll = time.Second
	// establishTimeout bounds how long a definition takes to be one. Nothing goes on
	// without it.
	establishTimeout = time.Minute
)

// check asks once; nil: it is as it must be.
type check func(context.Context) (*Finding, error)

// await asks until it is as it must be, and returns what is missing still when the time
// is over. It asks once at least. An error is one that lasts until then.
func await(ctx context.Context, timeout time.Duration, ask check) (*Finding, error) {
	over, next := time.NewTimer(timeout), time.NewTicker(poll)
	defer over.Stop()
	defer next.Stop()
	for {
		f, err := ask(ctx)
		if err == nil && f == nil {
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-over.C:
			return f, err
		case <-next.C:
		}
	}
}

// established: objects of a definition can be written. Its condition says so a moment
// before, so the objects are asked for.
func (w *workspace) established(name string) check {
	return func(ctx context.Context) (*Finding, error) {
		var crd apiextensionsv1.CustomResourceDefinition
		if exists, err := w.get(ctx, crds, name, &crd); err != nil || !exists {
			return &Finding{"the CustomResourceDefinition " + name + " is gone", "somebody deleted it meanwhile: run it again"}, err
		}
		gvr := schema.GroupVersionResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
		for _, v := range crd.Spec.Versions {
			gvr.Version = v.Name
		}
		if _, err := w.dynamic.Resource(gvr).List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsNotFound(err) {
			return &Finding{"the CustomResourceDefinition " + name + " isn't established", "see its conditions with kubectl describe"}, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return nil, nil
	}
}

// cached: the shards see our InfraEndpointSlice.
func (w *workspace) cached(name string) check {
	return func(ctx context.Context) (*Finding, error) {
		var r cachev1alpha1.CachedResource
		if _, err := w.get(ctx, cachedResources, name, &r); err != nil {
			return nil, err
		}
		return cachedFault("the CachedResource "+name, &r.Status), nil
	}
}

func cachedFault(what string, s *cachev1alpha1.CachedResourceStatus) *Finding {
	missing := lacking(s.Conditions, cachev1alpha1.CachedResourceValid, cachev1alpha1.CachedResourceIdentityValid, cachev1alpha1.ReplicationStarted)
	switch {
	case len(s.Conditions) == 0:
		return &Finding{
			what + " isn't looked at by anybody: shards don't learn where this server is",
			"start every shard with " + flagGate,
		}
	case len(missing) > 0:
		return &Finding{what + " isn't replicated: " + strings.Join(missing, ", "), "see the messages; the log of the shard says more"}
	case s.Phase != cachev1alpha1.CachedResourcePhaseReady:
		return &Finding{fmt.Sprintf("%s is %s", what, s.Phase), "see its conditions with kubectl describe"}
	}
	return nil
}

// exported: the export can be bound.
func (w *workspace) exported(name string) check {
	return func(ctx context.Context) (*Finding, error) {
		var e apisv1alpha2.APIExport
		if _, err := w.get(ctx, apiExports, name, &e); err != nil {
			return nil, err
		}
		return exportFault("the APIExport "+name, &e.Status), nil
	}
}

func exportFault(what string, s *apisv1alpha2.APIExportStatus) *Finding {
	missing := lacking(s.Conditions, apisv1alpha2.APIExportIdentityValid)
	switch {
	case len(s.Conditions) == 0:
		return &Finding{what + " isn't looked at by anybody", "look whether the shard of this workspace runs, and at its log"}
	case len(missing) > 0:
		return &Finding{what + " can't be bound: " + strings.Join(missing, ", "), "see the messages; its identity is the Secret of spec.identity"}
	}
	return nil
}

// lacking are the conditions of these types that aren't True, in words.
func lacking(have conditionsv1alpha1.Conditions, types ...conditionsv1alpha1.ConditionType) []string {
	var out []string
	for _, t := range types {
		found := conditionsv1alpha1.Condition{Type: t, Status: corev1.ConditionUnknown}
		for _, c := range have {
			if c.Type == t {
				found = c
			}
		}
		if found.Status != corev1.ConditionTrue {
			out = append(out, strings.TrimRight(fmt.Sprintf("%s=%s %s %s", t, found.Status, found.Reason, found.Message), " "))
		}
	}
	return out
}
