//go:build e2e

package lifecycle

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// TestCertificateFiles: files that are exchanged, as those of a Secret are by the
// kubelet, are served without a restart and without a dropped watch.
func TestCertificateFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// The kubelet's way: a directory beside, a link that changes, and the old directory
	// goes. (The last is what the server notices.)
	exchange := func(name string) []byte {
		t.Helper()
		pair, err := plane.ServingAuthority().Serving(harness.ServerName)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key} {
			if err := os.WriteFile(filepath.Join(dir, name, file), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		next := filepath.Join(dir, "next")
		if err := os.Symlink(name, next); err != nil {
			t.Fatal(err)
		}
		data := filepath.Join(dir, "data")
		old, _ := os.Readlink(data) // "" at first
		if err := os.Rename(next, data); err != nil {
			t.Fatal(err)
		}
		if old != "" {
			if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
				t.Fatal(err)
			}
		}
		return pair.Cert
	}
	exchange("first")
	g := plane.Guest(t, harness.GuestOptions{OwnCertificate: true, Flags: []string{
		"--tls-cert-file=" + filepath.Join(dir, "data", "tls.crt"), "--tls-private-key-file=" + filepath.Join(dir, "data", "tls.key"),
		"--shutdown-watch-termination-grace-period=1s",
	}})
	harness.Eventually(t, g.Ready)
	infras := harness.NewClients(t, g.Direct(plane.Config())).Infra.SocialwebV1alpha1().Infras()
	w, err := infras.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	second := exchange("second")
	harness.Eventually(t, func(ctx context.Context) error {
		c, err := g.Certificate(ctx)
		if err != nil {
			return err
		}
		if served, err := cert.EncodeCertificates(c); err != nil || !bytes.Equal(served, second) {
			return fmt.Errorf("the first certificate is served still: %w", err)
		}
		return nil
	})
	if _, err := infras.Create(t.Context(), harness.NewInfra("one"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if e, open := <-w.ResultChan(); !open || e.Type != "ADDED" {
		t.Errorf("the watch: %v, open %t", e, open)
	}
}

// TestFrontProxyAuthority (C39): when the cluster rotates the authority of its front
// proxy, requests of the new one are believed without a restart, and none before; a
// watch that the old one has open goes on.
func TestFrontProxyAuthority(t *testing.T) {
	t.Parallel()
	g := plane.Guest(t, harness.GuestOptions{})
	harness.Eventually(t, g.Ready)
	authority, err := harness.NewAuthority("next-front-proxy")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Client("front-proxy-client")
	if err != nil {
		t.Fatal(err)
	}
	old := ask(t, g, plane.FrontProxy(t, "front-proxy-client"))
	next := ask(t, g, pair)
	if status := old(t.Context()); status != http.StatusOK {
		t.Fatalf("by the proxy that the cluster has: %d", status)
	}
	if status := next(t.Context()); status != http.StatusForbidden && status != http.StatusUnauthorized {
		t.Fatalf("by a proxy that nobody knows: %d", status)
	}
	watch := proxied(t, g, plane.FrontProxy(t, "front-proxy-client"))
	resp, err := watch.get(t.Context(), "?watch=1&resourceVersion=0")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("a watch by the old proxy: %v %v", resp, err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	maps := plane.Admin().Core.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	const name, key = "extension-apiserver-authentication", "requestheader-client-ca-file"
	m, err := maps.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put := func(ctx context.Context, pem string) {
		t.Helper()
		if _, err := maps.Patch(ctx, name, types.MergePatchType, []byte(fmt.Sprintf(`{"data": {%q: %q}}`, key, pem)), metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { put(context.WithoutCancel(t.Context()), m.Data[key]) })
	put(t.Context(), m.Data[key]+string(authority.PEM))
	harness.Eventually(t, func(ctx context.Context) error {
		if status := next(ctx); status != http.StatusOK {
			return fmt.Errorf("by the new proxy: %d", status)
		}
		return nil
	})
	if status := old(t.Context()); status != http.StatusOK {
		t.Errorf("by the old proxy, during the overlap: %d", status)
	}
	if _, err := harness.NewClients(t, g.Direct(plane.Config())).Infra.SocialwebV1alpha1().Infras().Create(t.Context(), harness.NewInfra("one"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.Contains(line, `"ADDED"`) || !strings.Contains(line, `"name":"one"`) {
		t.Errorf("the watch that was open: %q %v", line, err)
	}
}

// proxy asks a guest for infras on behalf of an admin.
type proxy struct {
	client *http.Client
	path   string
}

func proxied(t *testing.T, g *harness.Guest, pair harness.Pair) proxy {
	t.Helper()
	c := g.Direct(plane.ConfigWith(pair))
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return proxy{client, c.Host + "/apis/socialweb.computer/v1alpha1/infras"}
}

func (p proxy) get(ctx context.Context, query string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.path+query, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Remote-User", "somebody")
	req.Header.Set("X-Remote-Group", "system:masters")
	return p.client.Do(req)
}

// ask returns a request of a proxy, whose answer's code it returns, each time on a
// connection of its own; 0: no answer.
func ask(t *testing.T, g *harness.Guest, pair harness.Pair) func(context.Context) int {
	t.Helper()
	return func(ctx context.Context) int {
		p := proxied(t, g, pair)
		defer p.client.CloseIdleConnections()
		resp, err := p.get(ctx, "")
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
}
