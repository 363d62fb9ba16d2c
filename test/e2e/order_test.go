//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	typed "socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned/typed/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// With writers at both replicas, a watch at either one sees versions that rise
// strictly, and every version that a writer was given
// (mckinsey/agents-at-scale-ark#1958).
func TestCommitOrder(t *testing.T) {
	t.Parallel()
	const writers, writes = 16, 5
	label := harness.Name(t)
	var replicas []typed.InfraInterface
	for _, r := range plane.Replicas {
		replicas = append(replicas, harness.NewClients(t, r.Direct(plane.Config())).Infra.SocialwebV1alpha1().Infras())
	}
	var names []string
	for range writers {
		names = append(names, plane.Infra(t, func(o *v1alpha1.Infra) { o.Labels = map[string]string{"order": label} }))
	}
	list, err := replicas[0].List(t.Context(), metav1.ListOptions{LabelSelector: "order=" + label})
	if err != nil {
		t.Fatal(harness.Explain(err))
	}
	var mu sync.Mutex
	given := map[string]bool{}
	var writing sync.WaitGroup
	watches := make([]watch.Interface, len(replicas))
	for i, infras := range replicas {
		if watches[i], err = infras.Watch(t.Context(), metav1.ListOptions{LabelSelector: "order=" + label, ResourceVersion: list.ResourceVersion}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(watches[i].Stop)
	}
	for i, name := range names {
		writing.Go(func() {
			for n := range writes {
				patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d"}}}`, n)
				o, err := replicas[(i+n)%len(replicas)].Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
				if err != nil {
					t.Error(harness.Explain(err))
					return
				}
				mu.Lock()
				given[o.ResourceVersion] = true
				mu.Unlock()
			}
		})
	}
	writing.Wait()
	for i, w := range watches {
		if err := inOrder(w, given); err != nil {
			t.Errorf("%s: %v", plane.Replicas[i].Name, err)
		}
	}
}

// inOrder reads a watch until it has seen every version that was given.
func inOrder(w watch.Interface, given map[string]bool) error {
	missing, last := maps.Clone(given), uint64(0)
	for late := time.After(2 * time.Minute); len(missing) > 0; {
		select {
		case <-late:
			return fmt.Errorf("%d of %d versions did not come", len(missing), len(given))
		case e := <-w.ResultChan():
			o, ok := e.Object.(*v1alpha1.Infra)
			if !ok {
				return fmt.Errorf("event %s %v", e.Type, e.Object)
			}
			n, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
			if err != nil || n <= last {
				return fmt.Errorf("version %s after %d", o.ResourceVersion, last)
			}
			last = n
			delete(missing, o.ResourceVersion)
		}
	}
	return nil
}
