package kcp

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/kcp/provider"
)

// TestLookAtDoor: what kcp init says of the server's own door, as a stranger and as who
// has a certificate.
func TestLookAtDoor(t *testing.T) {
	t.Parallel()
	e := start(t)
	authorities, err := os.ReadFile(filepath.Join(e.data, "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	const notTried = "whether shards are let in at "
	for name, c := range map[string]struct {
		prefix  string
		cert    *tls.Certificate
		fault   string
		unknown []string
	}{
		"nobody":                          {prefix, nil, "", []string{notTried}},
		"nobody, another prefix":          {"/services/other", nil, "", []string{"whether this server's door is at ", notTried}},
		"a shard":                         {prefix, e.ca.client(t, "system:kcp:shard:root"), "", nil},
		"a shard, by the plain path":      {"", e.ca.client(t, "system:kcp:shard:root"), "", nil},
		"a shard, another prefix":         {"/services/other", e.ca.client(t, "system:kcp:shard:root"), "its door isn't at " + e.dev.Server + "/services/other", nil},
		"a shard, a name of kcp's":        {prefix, e.ca.client(t, "system:kcp:other"), "doesn't let the name", nil},
		"a shard, of another authority":   {prefix, newAuthority(t, "kcp-client-ca").client(t, "system:kcp:shard:root"), "for one of a shard", nil},
		"somebody else of that authority": {prefix, e.ca.client(t, "kcp-admin"), "for one of a shard", nil},
	} {
		r, err := provider.LookAtDoor(t.Context(), provider.Options{
			Config: &rest.Config{}, URLs: []string{e.dev.Server + c.prefix}, Authorities: authorities, ShardCertificate: c.cert,
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if (c.fault == "") != (len(r.Faults) == 0) || c.fault != "" && !strings.Contains(r.Faults[0].Fault, c.fault) {
			t.Errorf("%s: faults %q, want %q", name, r.Faults, c.fault)
		}
		var unknown []string
		for _, f := range r.Unknown {
			unknown = append(unknown, f.Fault)
		}
		if len(unknown) != len(c.unknown) {
			t.Errorf("%s: unknown %q, want %q", name, unknown, c.unknown)
			continue
		}
		for i, want := range c.unknown {
			if !strings.HasPrefix(unknown[i], want) {
				t.Errorf("%s: unknown %q, want %q", name, unknown, want)
			}
		}
	}
}
