package apiserver

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/startup"
)

func TestKCPOptions(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "bad.crt")
	writeAuthorities(t, good, newAuthority(t, "kcp"))
	if err := os.WriteFile(bad, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	const ca, names, prefix, dids = "--kcp-shard-client-ca-file=", "--kcp-shard-allowed-names=", "--kcp-path-prefix=", "--kcp-execute-dids="
	for _, c := range []struct {
		args []string
		want string // of the error; "": none
	}{
		{nil, ""},
		{[]string{ca + good}, ""},
		{[]string{ca + good, names + "system:kcp:shard:a,system:kcp:shard:b-*", prefix + "/services/other.infra", dids + "did:plc:ewvi7nxzyoun6zhxrhs64oiz,w1/did:web:a.example.com"}, ""},
		{[]string{ca + good, prefix + ""}, ""},
		{[]string{ca + filepath.Join(dir, "none")}, "no such file"},
		{[]string{ca + bad}, "bad.crt"},
		{[]string{ca + dir}, "is a directory"},
		{[]string{ca + good, names + ""}, "at least one pattern"},
		{[]string{names + "a,,b"}, "is no pattern"},
		{[]string{names + "[a"}, "is no pattern"},
		{[]string{prefix + "services"}, "is no path"},
		{[]string{prefix + "/"}, "is no path"},
		{[]string{prefix + "/services/infra/"}, "is no path"},
		{[]string{prefix + "/services//infra"}, "is no path"},
		{[]string{prefix + "/services/../infra"}, "is no path"},
		{[]string{prefix + "/services/%69nfra"}, "is no path"},
		{[]string{prefix + "https://host/services"}, "is no path"},
		{[]string{prefix + "/apis/x"}, "path of the server itself"},
		{[]string{prefix + "/clusters"}, "path of the server itself"},
		{[]string{prefix + "/livez"}, "path of the server itself"},
		{[]string{dids + "alice.example.com"}, "is no account"},
		{[]string{dids + "W1/did:web:a.example.com"}, "is no account"},
		{[]string{dids + "*/did:web:a.example.com"}, "is no account"},
		{[]string{dids + "w1/"}, "is no account"},
		{[]string{dids + "default/did:web:a.example.com"}, "grant them the verb execute"},
	} {
		o := NewOptions().KCP
		fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		o.AddFlags(fs)
		if err := fs.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, err := range o.Validate() {
			text = append(text, err.Error())
		}
		if all := strings.Join(text, "; "); (all == "") != (c.want == "") || !strings.Contains(all, c.want) || c.want != "" && !strings.Contains(all, "--kcp-") {
			t.Errorf("%v: %q, want %q", c.args, all, c.want)
		}
	}
	var none *KCPOptions
	if errs := none.Validate(); len(errs) > 0 {
		t.Error(errs)
	}
	if door, policy, err := none.doorAndPolicy(nil); door != nil || policy != nil || err != nil {
		t.Errorf("%v, %v, %v", door, policy, err)
	}
}

// The prefix is as the options have it; plain paths are served beside it.
func TestPathPrefix(t *testing.T) {
	for prefix, c := range map[string]struct{ own, other string }{
		kcpPrefix: {kcpPrefix + "/clusters/w1", "/services/other/clusters/w1"},
		"/x":      {"/x/clusters/w1", kcpPrefix + "/clusters/w1"},
		"":        {"/clusters/w1", kcpPrefix + "/clusters/w1"},
	} {
		d := &kcpDoor{prefix: prefix + clustersPrefix}
		if rest, atPrefix, ok := d.cut(c.own); rest != "w1" || !ok || atPrefix != (prefix != "") {
			t.Errorf("%q: %s, %t, %t", prefix, rest, atPrefix, ok)
		}
		if rest, atPrefix, ok := d.cut("/clusters/w1"); rest != "w1" || !ok || atPrefix {
			t.Errorf("%q, plain: %s, %t, %t", prefix, rest, atPrefix, ok)
		}
		if rest, _, ok := d.cut(c.other); ok {
			t.Errorf("%q, another: %s", prefix, rest)
		}
	}
}

// A server that authenticates nobody can't tell shards from others.
func TestDoorNeedsAuthentication(t *testing.T) {
	o := NewKCPOptions()
	o.ShardClientCAFile = filepath.Join(t.TempDir(), "ca.crt")
	writeAuthorities(t, o.ShardClientCAFile, newAuthority(t, "kcp"))
	if d, err := o.door(genericapiserver.NewRecommendedConfig(Codecs)); err == nil || d != nil {
		t.Errorf("%v, %v", d, err)
	}
}

// While the server waits for what it needs it answers probes, and nothing to shards.
func TestShutWhileStarting(t *testing.T) {
	ca := newAuthority(t, "kcp")
	h := startup.NewGate(clock.RealClock{}).Handler(Codecs)
	for _, path := range []string{kcpPrefix + "/clusters/w1" + infras, "/clusters/w1" + infras, "/clusters/%2A/apis"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.TLS = over(certificate(t, ca, shardName, nil))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
}

func TestExecutePolicy(t *testing.T) {
	const anywhere, inOne = "did:plc:ewvi7nxzyoun6zhxrhs64oiz", "did:web:a.example.com"
	p, err := newExecutePolicy([]string{anywhere, "w1/" + inOne})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		workspace, did string // workspace "": by neither door
		may, asked     bool
	}{
		{"w1", anywhere, true, true}, {"w2", anywhere, true, true}, {"w1", inOne, true, true}, {"w2", inOne, false, true},
		{"w1", "", false, true}, {"w1", "did:web:b.example.com", false, true}, {"w1", "w1/" + inOne, false, true},
		{"default", anywhere, false, false}, {"", anywhere, false, false},
	} {
		ctx := t.Context()
		if c.workspace != "" {
			ctx = withEntry(ctx, &entry{workspace: c.workspace})
		}
		if may, asked := p.ask(ctx, c.did); may != c.may || asked != c.asked {
			t.Errorf("%q in %q: %t, %t", c.did, c.workspace, may, asked)
		}
	}
	if may, asked := executePolicy(nil).ask(withEntry(t.Context(), &entry{workspace: "w1"}), anywhere); may || !asked {
		t.Errorf("without entries: %t, %t", may, asked)
	}
}
