//go:build e2e

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// TestStartOrder: etcd and kube-apiserver may come up after the server, in any
// order: it waits, says for what, is alive meanwhile, and starts when both are
// there. Later outages of either don't end it either.
func TestStartOrder(t *testing.T) {
	t.Parallel()
	etcd, kube := harness.NewLane(t, plane.EtcdURL()), harness.NewLane(t, plane.URL())
	g := plane.Guest(t, harness.GuestOptions{Etcd: "http://" + etcd.Addr, KubeAPIServer: "https://" + kube.Addr})
	alive := func(when string) {
		t.Helper()
		if status, body, err := g.Get(t.Context(), "/livez"); err != nil || status != http.StatusOK {
			t.Errorf("livez %s: %d %s %v", when, status, body, err)
		}
	}
	waitsFor(t, g, "etcd", "etcd doesn't answer", "[-]kube-apiserver failed: kube-apiserver can't be asked yet")
	alive("without both")
	if said := waitsFor(t, g, "etcd"); strings.Contains(said, "127.") {
		t.Errorf("readyz tells addresses: %s", said)
	}
	kube.Open(t)
	harness.Eventually(t, func(ctx context.Context) error {
		if err := g.Ready(ctx); err == nil || !strings.Contains(err.Error(), "etcd failed") || strings.Contains(err.Error(), "kube-apiserver failed") {
			return fmt.Errorf("with kube-apiserver alone: %w", errors.Join(errors.New("not waiting for etcd alone"), err))
		}
		return nil
	})
	etcd.Open(t)
	harness.Eventually(t, g.Ready)

	kube.Cut()
	harness.Eventually(t, func(ctx context.Context) error {
		err := g.Ready(ctx)
		if err != nil && !strings.Contains(err.Error(), "[-]etcd") { // which may be slow, and isn't asked again for a second then
			t.Fatalf("without kube-apiserver: %v", err)
		}
		return err
	})
	etcd.Cut()
	waitsFor(t, g, "etcd-readiness")
	alive("while etcd is away")
	kube.Open(t)
	etcd.Open(t)
	harness.Eventually(t, g.Ready)
	if log := plane.Log(t, g.Name); !strings.Contains(log, `"Waiting" for="etcd"`) || !strings.Contains(log, `"Waiting" for="kube-apiserver"`) {
		t.Errorf("the log doesn't say what it waited for:\n%s", log)
	}
}

// A server that waits ends at once, and cleanly, when it is told to.
func TestEndWhileWaiting(t *testing.T) {
	t.Parallel()
	etcd := harness.NewLane(t, plane.EtcdURL())
	g := plane.Guest(t, harness.GuestOptions{Etcd: "http://" + etcd.Addr})
	waitsFor(t, g, "etcd")
	g.Process.Signal(syscall.SIGTERM)
	if err := g.Process.Err(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if log := plane.Log(t, g.Name); !strings.Contains(log, `"Told to end before the start"`) {
		t.Errorf("the log doesn't say why it ended:\n%s", log)
	}
}

// TestSignals: after the first SIGTERM /readyz fails at once and requests are
// answered as before; the second one ends the process, without waiting.
func TestSignals(t *testing.T) {
	t.Parallel()
	g := plane.Guest(t, harness.GuestOptions{Flags: []string{"--shutdown-delay-duration=1h"}})
	g.MayFail = true
	harness.Eventually(t, g.Ready)
	g.Process.Signal(syscall.SIGTERM)
	waitsFor(t, g, "shutdown")
	infra := harness.NewClients(t, g.Direct(plane.Config())).Infra
	if _, err := infra.Discovery().ServerResourcesForGroupVersion("socialweb.computer/v1alpha1"); err != nil {
		t.Errorf("a request during the delay: %v", err)
	}
	g.Process.Signal(syscall.SIGTERM)
	if err := g.Process.Err(); err == nil {
		t.Error("the second signal ended it as if all was done")
	}
}
