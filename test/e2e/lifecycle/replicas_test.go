//go:build e2e

package lifecycle

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clientfeatures "k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
	"socialweb.computer/infra-apiserver/pkg/generated/informers/externalversions"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// direct are clients of each replica.
func direct(t *testing.T) []versioned.Interface {
	t.Helper()
	var out []versioned.Interface
	for _, r := range plane.Replicas {
		out = append(out, harness.NewClients(t, r.Direct(plane.Config())).Infra)
	}
	return out
}

// TestReplicasAreOne: a version that one replica gave means the same at the other:
// what was written through one is what the other reads, at that version or newer.
func TestReplicasAreOne(t *testing.T) {
	t.Parallel()
	replicas := direct(t)
	for i := range 6 {
		writer, reader := replicas[i%2].SocialwebV1alpha1().Infras(), replicas[(i+1)%2].SocialwebV1alpha1().Infras()
		made, err := writer.Create(t.Context(), harness.NewInfra(harness.Name(t)), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(harness.Explain(err))
		}
		t.Cleanup(func() { plane.RemoveInfra(t, made.Name) })
		// Neither asks the PDS: the cache has to have caught up by itself.
		got, err := reader.Get(t.Context(), made.Name, metav1.GetOptions{ResourceVersion: made.ResourceVersion})
		if err != nil || got.UID != made.UID || older(t, got.ResourceVersion, made.ResourceVersion) {
			t.Errorf("read at %s or newer: %v, %+v", made.ResourceVersion, err, got)
		}
		list, err := reader.List(t.Context(), metav1.ListOptions{
			ResourceVersion: made.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		if err != nil || older(t, list.ResourceVersion, made.ResourceVersion) || find(list, made.Name) == nil {
			t.Errorf("list at %s or newer: %v, at %s", made.ResourceVersion, err, list.ResourceVersion)
		}
		settled(t, made.Name) // at the same version, on both
	}
}

// TestTooOldOnce: a version from before all history is answered with 410; a list and
// a watch from there go on.
func TestTooOldOnce(t *testing.T) {
	t.Parallel()
	for i, c := range direct(t) {
		infras := c.SocialwebV1alpha1().Infras()
		w, err := infras.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
		if err != nil {
			t.Fatal(err)
		}
		e := <-w.ResultChan()
		if err := apierrors.FromObject(e.Object); e.Type != watch.Error || !apierrors.IsResourceExpired(err) {
			t.Errorf("replica %d: a watch from 1: %s %v", i, e.Type, err)
		}
		w.Stop()
		list, err := infras.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if w, err = infras.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion}); err != nil {
			t.Fatal(err)
		}
		name := plane.Infra(t)
		for {
			e, open := <-w.ResultChan()
			if !open || e.Type == watch.Error {
				t.Fatalf("replica %d: the watch from the list's version: %s %v", i, e.Type, e.Object)
			}
			if o, ok := e.Object.(*v1alpha1.Infra); ok && o.Name == name {
				break
			}
		}
		w.Stop()
	}
}

// TestInformers: informers see everything, by a list and a watch as well as by a
// watch that begins with everything.
func TestInformers(t *testing.T) {
	for _, byWatch := range []bool{true, false} {
		t.Run(fmt.Sprintf("WatchListClient=%t", byWatch), func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, byWatch)
			before := plane.Infra(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			factory := externalversions.NewSharedInformerFactory(plane.Admin().Infra, 0)
			infras := factory.Socialweb().V1alpha1().Infras()
			informer := infras.Informer()
			factory.Start(ctx.Done())
			if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
				t.Fatal("never in sync")
			}
			if _, err := infras.Lister().Get(before); err != nil {
				t.Errorf("what was there: %v", err)
			}
			during := plane.Infra(t)
			harness.Eventually(t, func(context.Context) error { _, err := infras.Lister().Get(during); return err })
			plane.RemoveInfra(t, before)
			harness.Eventually(t, func(context.Context) error {
				if _, err := infras.Lister().Get(before); !apierrors.IsNotFound(err) {
					return fmt.Errorf("the deleted one is there: %w", err)
				}
				return nil
			})
			cancel()
			factory.Shutdown()
		})
	}
}

func older(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y int64
	if _, err := fmt.Sscan(a+" "+b, &x, &y); err != nil {
		t.Fatal(err)
	}
	return x < y
}

func find(list *v1alpha1.InfraList, name string) *v1alpha1.Infra {
	for i := range list.Items {
		if list.Items[i].Name == name {
			return &list.Items[i]
		}
	}
	return nil
}
