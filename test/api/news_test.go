package api

import (
	"fmt"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// TestNewsThatCannotBeFetched: the PDS says that there is something new and
// doesn't give it, or gives something else. No consistent read shows the old
// state then; the cache goes on; and the news show once they can be had.
func TestNewsThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	contents := []string{
		"com.atproto.repo.getRecord", "com.atproto.repo.listRecords", "com.atproto.sync.getRecord", "com.atproto.sync.getRepo",
	}
	for _, kind := range []testproxy.Kind{testproxy.Status500, testproxy.Truncated, testproxy.AlteredRecord, testproxy.Garbage} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, onEmbedded(t))
			e.create(t, newInfra("a", "old"))
			e.create(t, newInfra("gone", "old"))
			e.inCache(t, "a", "gone")
			e.setStreams(t, v1alpha1.EventSourceFirehose, testproxy.StreamStalled)
			// Before there is anything new: the server looks by itself at a repository whose
			// stream has begun.
			e.proxy.Set(testproxy.Fault{Kind: kind}, contents...)
			e.proxy.AwaitAnswers(contents...)
			e.account.put(t, "a", infraRecord("new"))
			e.account.put(t, "b", infraRecord("new"))
			e.account.remove(t, "gone")
			for _, path := range []string{infras + "/a", infras + "/b", infras} {
				a := e.do(t, request{path: path})
				if a.status != unavailable || strings.Contains(a.body, "old") {
					t.Errorf("%s: %d %s", path, a.status, a.body)
				}
				if err := contains(a.failure.Message, e.account.DID); err != nil {
					t.Error(err)
				}
			}
			if a := e.do(t, request{path: infras + "/gone"}); a.status != unavailable && kind != testproxy.AlteredRecord {
				t.Errorf("a record that is gone, which nobody can say: %d %s", a.status, a.body)
			}
			for _, path := range []string{infras + "/a?resourceVersion=0", infras + "?resourceVersion=0"} {
				if a := e.do(t, request{path: path}); a.status != fine || !strings.Contains(a.body, "old") {
					t.Errorf("%s: %d %s", path, a.status, a.body)
				}
			}
			e.proxy.Clear()
			if got := fmt.Sprint(keys(e.objects(t))); got != "[a b]" {
				t.Errorf("afterwards: %s", got)
			}
			if got := e.infra(t, "a"); got.Spec.Description != "new" {
				t.Errorf("afterwards: %q", got.Spec.Description)
			}
		})
	}
}
