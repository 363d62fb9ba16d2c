package kcp

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/component-base/metrics/legacyregistry"

	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

// stored is everything that the server keeps: each key below its prefix in etcd with
// the revision of its last change, and the rev of each repository by its DID. The server
// writes into the statuses of AtprotoRepos at any time, so that of these the rest counts.
type stored map[string]string

func (e *env) stored(t testing.TB, repositories ...*testpds.Client) stored {
	t.Helper()
	out := stored{}
	resp, err := e.etcd.Get(t.Context(), apiserver.EtcdPrefix+"/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Kvs) == 0 {
		t.Fatal("the server keeps nothing below " + apiserver.EtcdPrefix)
	}
	for _, kv := range resp.Kvs {
		if left(kv.Key) {
			continue
		}
		out[string(kv.Key)] = fmt.Sprint(kv.ModRevision)
		if bytes.HasPrefix(kv.Key, []byte(apiserver.EtcdPrefix+"/atprotorepos/")) {
			o := decode[object](t, string(kv.Value))
			out[string(kv.Key)] = fmt.Sprint(o.UID, o.Generation, encode(t, []any{o.Labels, o.Annotations, o.Finalizers, o.DeletionTimestamp, o.Spec}))
		}
	}
	for _, a := range repositories {
		if out[a.DID], err = a.Rev(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// left tells whether a key is of a write whose answer an earlier test has lost, which is
// taken away some time; of an election, which begins anew where a machine stalls; or of a
// horizon, which a comparison with the repository raises up to its rev.
func left(key []byte) bool {
	for _, kind := range []string{"/elections/", "/horizons/"} {
		if bytes.HasPrefix(key, []byte(apiserver.EtcdPrefix+kind)) {
			return true
		}
	}
	for _, kind := range []string{"/intents/", "/tombstones/"} {
		if bytes.HasPrefix(key, []byte(apiserver.EtcdPrefix+kind)) && !bytes.Contains(key, []byte("/victim")) {
			return true
		}
	}
	return false
}

// untouched tells what of a changed.
func (s stored) untouched(t testing.TB, now stored) {
	t.Helper()
	for k, v := range s {
		if now[k] != v {
			t.Errorf("%s was at %s, and is at %q", k, v, now[k])
		}
	}
	for k := range maps.Keys(now) {
		if s[k] == "" {
			t.Errorf("%s was not there", k)
		}
	}
}

// logged are the lines that the log has beyond a mark, of those that tell that somebody
// was refused.
func logged(mark int) (out []string) {
	for line := range strings.Lines(string(logs.From(mark))) {
		l := strings.ToLower(line)
		for _, w := range []string{"refused", "authenticat", "authoriz", "forbidden", "denied", "/clusters/", "x509"} {
			if strings.Contains(l, w) {
				out = append(out, strings.TrimSpace(line))
				break
			}
		}
	}
	return out
}

// refusals is what the metric counts, by reason.
func refusals(t testing.TB) map[string]float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "infra_apiserver_door_refusals_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			out[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return out
}
