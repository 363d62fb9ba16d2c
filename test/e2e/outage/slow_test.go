//go:build e2e

package outage

import (
	"context"
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// A watch that never reads is closed once it is too far behind, and has missed nothing
// until there; nobody else notices (mckinsey/agents-at-scale-ark#2683). The large form
// is in package soak.
func TestSlowWatcher(t *testing.T) {
	o := harness.LoadOptions{Objects: 4, Watches: 100, Writes: 400, Payload: 32 << 10}
	f := plane.Load(t, o)
	t.Log(f)
	if f.Slow == 0 || f.Slow == o.Writes {
		t.Errorf("the watch that never reads got %d of %d events, want some", f.Slow, o.Writes)
	}
	if grew := f.Opened.Replicas.Live + f.Third.Replicas.Live + f.End.Replicas.Live; grew > 200<<20 {
		t.Errorf("the replicas' memory grew by %d bytes", grew)
	}
}

// What the PDS is asked doesn't grow with the watches.
func TestRequestsPerChange(t *testing.T) {
	const writes = 10
	name := plane.Infra(t)
	infras := plane.Admin().Infra.SocialwebV1alpha1().Infras()
	list, err := infras.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change := func(word string) int {
		before := pdsCalls()
		for i := range writes {
			patch := fmt.Appendf(nil, `{"spec":{"description":"%s %d"}}`, word, i)
			if _, err := infras.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Fatal(harness.Explain(err))
			}
		}
		return pdsCalls() - before
	}
	alone := change("alone")
	ctx, cancel := context.WithCancel(t.Context())
	var wg, all sync.WaitGroup
	for range 100 {
		w, err := infras.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		all.Add(1)
		last := sync.OnceFunc(all.Done)
		wg.Go(func() {
			for e := range w.ResultChan() {
				if o, ok := e.Object.(interface{ GetResourceVersion() string }); ok && o.GetResourceVersion() != "" {
					last()
				}
			}
			last()
		})
	}
	watched := change("watched")
	all.Wait()
	cancel()
	wg.Wait()
	t.Logf("%d changes: %d requests without watches, %d with 100", writes, alone, watched)
	if watched > 10*writes {
		t.Errorf("%d requests for %d changes with 100 watches, %d without", watched, writes, alone)
	}
}

// pdsCalls are those about records: the heads are asked for at a rate of their own.
func pdsCalls() int {
	sum := 0
	for _, method := range []string{
		"com.atproto.repo.getRecord", "com.atproto.repo.putRecord", "com.atproto.repo.listRecords",
		"com.atproto.sync.getRecord", "com.atproto.sync.getRepo",
	} {
		sum += plane.Proxy.Calls(method)
	}
	return sum
}
