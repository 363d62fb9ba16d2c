//go:build e2e

package lifecycle

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// soak says that the cases of minutes and of full load run.
var soak = os.Getenv("INFRA_SOAK") != ""

// TestRollingRestart (C42): both replicas are restarted, one after the other, while
// clients read, write and watch through the aggregator. No request fails, each watch
// goes on elsewhere, and what nobody touched keeps its version. A write that is on the
// wire when the server gives up the aggregator's connection is never seen by the server,
// and kube-apiserver has no copy of its body to send again: that can be one for each
// connection (docs/operations.md).
func TestRollingRestart(t *testing.T) {
	rounds, watches := 1, 20
	if soak {
		rounds, watches = 5, 100
	}
	quiet := plane.Infra(t)
	settled(t, quiet)
	l := newLoad(t, 10)
	before := versions(t, quiet)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(ctx, 50, watches)
	}()
	for range rounds {
		for _, r := range plane.Replicas {
			r.Stop(t)
			r.Start(t)
		}
	}
	last := plane.Infra(t)
	err := harness.Poll(t.Context(), func(context.Context) error { return l.allSaw(watches, last) })
	cancel()
	<-done
	l.report(t)
	if n := len(plane.Replicas) * rounds; l.crossed > n {
		t.Errorf("%d writes crossed a GOAWAY, of %d connections that were given up", l.crossed, n)
	}
	if err != nil {
		t.Errorf("not every watch goes on: %s", err)
	}
	// Nothing happened to the quiet kind: there is no need for a 410. Where etcd doesn't
	// tell in time, as the requests show too, all who ask may be told so.
	if n := l.expired[quietKind]; n > 2*rounds && !(l.late && l.took[len(l.took)-1] >= patience/2) {
		t.Errorf("%d times was a watch of %s told 410", n, quietKind)
	}
	if diff := cmp.Diff(before, versions(t, quiet)); diff != "" {
		t.Errorf("what nobody touched, before (-), after (+):\n%s", diff)
	}
}

// settled waits until nothing is left to be written of an object, and both replicas
// have it so.
func settled(t *testing.T, name string) {
	t.Helper()
	harness.Eventually(t, func(ctx context.Context) error {
		seen := map[string]bool{}
		for _, r := range plane.Replicas {
			o, err := harness.NewClients(t, r.Direct(plane.Config())).Infra.SocialwebV1alpha1().Infras().Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
			if err != nil {
				return err
			}
			if o.Status.Record == nil || o.Status.Record.Direction != "InSync" {
				return fmt.Errorf("status.record %+v", o.Status.Record)
			}
			seen[o.ResourceVersion] = true
		}
		if len(seen) != 1 {
			return fmt.Errorf("versions %v", seen)
		}
		return nil
	})
}

// versions of an object at each replica, from its cache.
func versions(t *testing.T, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, r := range plane.Replicas {
		o, err := harness.NewClients(t, r.Direct(plane.Config())).Infra.SocialwebV1alpha1().Infras().Get(t.Context(), name, metav1.GetOptions{ResourceVersion: "0"})
		if err != nil {
			t.Fatal(err)
		}
		out[r.Name] = o.ResourceVersion + " " + string(o.UID)
	}
	return out
}
