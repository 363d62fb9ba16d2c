//go:build soak

package soak

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// After minutes in which nobody wrote, a new quota becomes usable: the monitors of the
// controller-manager still have watches that live, and bookmarks that move on
// (projectcalico/calico#11114, kubernetes/kubernetes#135796).
func TestQuotaAfterSilence(t *testing.T) {
	plane.Infra(t)
	bookmarks := countBookmarks(t, *quiet)
	k := plane.Kubectl(t)
	ns := harness.Name(t)
	begin := time.Now()
	k.Run(t, "create", "namespace", ns)
	k.Run(t, "create", "quota", "q", "--hard=pods=5", "-n", ns)
	k.Run(t, "wait", "--for=jsonpath={.status.hard.pods}=5", "quota/q", "-n", ns, "--timeout=30s")
	usable := time.Since(begin)
	begin = time.Now()
	k.Run(t, "delete", "namespace", ns, "--timeout=60s")
	row(t, "silence", "%s, %d bookmarks", *quiet, bookmarks)
	row(t, "a new quota is usable after", "%s", usable.Round(time.Millisecond))
	row(t, "its namespace is deleted after", "%s", time.Since(begin).Round(time.Millisecond))
	if strings.Contains(plane.Log(t, "kube-controller-manager"), "timed out waiting for quota monitor sync") {
		t.Error("the controller-manager's quota monitors did not sync")
	}
	if *quiet > 2*time.Minute && bookmarks == 0 {
		t.Error("the watch got no bookmark")
	}
}

// countBookmarks watches for a while, and says how many bookmarks came.
func countBookmarks(t *testing.T, d time.Duration) int {
	t.Helper()
	client, err := rest.HTTPClientFor(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	url := plane.URL() + "/apis/socialweb.computer/v1alpha1/infras?watch=1&allowWatchBookmarks=true&resourceVersion=0&timeoutSeconds=86400"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	count := 0
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), `{"type":"BOOKMARK"`) {
			count++
		}
	}
	if ctx.Err() == nil {
		t.Errorf("the watch ended before %s: %v", d, lines.Err())
	}
	return count
}
