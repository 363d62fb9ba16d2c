//go:build e2e

package kcp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/artifacts/kcp"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// From an empty workspace to one that others can bind to: everything that is missing on
// the way is named with its remedy before anything is written, a second run changes
// nothing, and what others added stays.
func TestInit(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	url := p.door + "/services/infra"
	apis := []string{
		"apiresourceschemas.apis.kcp.io/v1alpha1=APIResourceSchema", "apiexportendpointslices.apis.kcp.io/v1alpha1=APIExportEndpointSlice",
		"apiexports.apis.kcp.io/v1alpha2=APIExport",
	}

	p.refused("it is no workspace of kcp v0.32.0", "URL ends with /clusters/").with(url)
	define(t, p.k, apis...)
	p.refused("there is no cachedresources of cache.kcp.io/v1alpha1", "--feature-gates=CacheAPIs=true on every shard").with(url)
	define(t, p.k, "cachedresources.cache.kcp.io/v1alpha1=CachedResource")
	if out := p.ok("--dry-run", "--url="+url); !strings.Contains(out, "? whether "+url+" begins with the shards' URLs of virtual workspaces isn't known") ||
		strings.Count(out, " created (dry run)\n") != p.objects() {
		t.Errorf("a dry run without shards said\n%s", out)
	}

	define(t, p.k, "shards.core.kcp.io/v1alpha1=Shard")
	p.shard("root", "https://other.example.com")
	p.refused("the shard root takes its virtual workspaces from https://other.example.com, which no --url begins with",
		"--url=https://other.example.com/services/infra", "--shard-virtual-workspace-url").with(url)
	open := p.open()
	p.shard("root", open)
	p.refused("answers whoever asks: 200 OK without a certificate of a shard", "--kcp-shard-client-ca-file").with(open)
	p.shard("root", p.door)
	if out := p.k.Fails(t, "", "get", "crd", "infraendpointslices.kcp.socialweb.computer"); !strings.Contains(out, "NotFound") {
		t.Errorf("something was written: %s", out)
	}

	out := p.fails("--url="+url, "--timeout=1s")
	for _, want := range []string{
		"- the CachedResource infraendpointslices isn't looked at by anybody", "  start every shard with --feature-gates=CacheAPIs=true\n",
		"- the APIExport computecontracts isn't looked at by anybody", "everything is applied, and tenants can't use it yet",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	if n := strings.Count(out, " created\n"); n != p.objects() {
		t.Errorf("%d objects were created:\n%s", n, out)
	}
	p.status("cachedresource/infraendpointslices", `{"conditions": [{"type": "ResourceValid", "status": "True"}, {"type": "IdentityValid", "status": "True"},
		{"type": "ReplicationStarted", "status": "False", "reason": "Later", "message": "the cache server is away"}]}`)
	p.status("apiexport/computecontracts", `{"identityHash": "abc", "conditions": [{"type": "IdentityValid", "status": "True"}]}`)
	if out := p.fails("--url="+url, "--timeout=1s"); !strings.Contains(out, "isn't replicated: ReplicationStarted=False Later the cache server is away") {
		t.Error(out)
	}
	p.status("cachedresource/infraendpointslices", `{"phase": "Ready", "conditions": [{"type": "ReplicationStarted", "status": "True"},
		{"type": "ResourceValid", "status": "True"}, {"type": "IdentityValid", "status": "True"}]}`)
	p.again(url)
	p.tried(url)
}

// again: with everything in order a second run changes nothing, another URL changes what
// tells it, and what others own stays or is asked for.
func (p *provider) again(url string) {
	p.Helper()
	others := `{"apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIExport", "metadata": {"name": "computecontracts", "labels": {"team": "a"}}, "spec": {
		"resources": [{"name": "widgets", "group": "example.com", "schema": "v1.widgets.example.com"}],
		"permissionClaims": [{"group": "", "resource": "configmaps", "verbs": ["get"]}]}}`
	p.k.RunIn(p.T, others, "apply", "--server-side", "--field-manager=other", "-f", "-")
	all := p.ok("--url=" + url)
	if n := strings.Count(all, " unchanged\n"); n != p.objects() || strings.Count(all, "\n") != n+3 || !strings.HasSuffix(all, "workspaces can bind computecontracts\n") ||
		!strings.Contains(all, "? whether shards are let in at "+url+" wasn't tried") || !strings.Contains(all, "--dry-run --shard-client-cert-file=FILE --shard-client-key-file=FILE") {
		p.Errorf("a second run said\n%s", all)
	}
	if out := p.ok("--url="+url, "--dry-run"); strings.Count(out, " unchanged (dry run)\n") != p.objects() {
		p.Errorf("a dry run said\n%s", out)
	}
	p.shard("eu", "https://127.0.0.2:1")
	out := p.ok("--url="+url, "--url=https://127.0.0.2:1/services/infra")
	if !strings.Contains(out, "infraendpointslice.kcp.socialweb.computer/infra configured\n") || strings.Count(out, " unchanged\n") != p.objects()-1 ||
		!strings.Contains(out, "? https://127.0.0.2:1/services/infra isn't to be reached from here") {
		p.Errorf("with another URL it said\n%s", out)
	}
	p.k.Run(p.T, "delete", "shards.core.kcp.io", "eu")

	get := func() string {
		return p.k.Run(p.T, "get", "apiexports", "computecontracts", "-o", "jsonpath={.metadata.labels.team} {.spec.resources[*].name} {.spec.permissionClaims[*].verbs}")
	}
	if got := get(); !strings.HasPrefix(got, "a ") || !strings.Contains(got, "widgets") || !strings.HasSuffix(got, `["get"] ["get"]`) {
		p.Errorf("what others added is %s", got)
	}
	p.k.RunIn(p.T, strings.ReplaceAll(others, `"configmaps", "verbs": ["get"]`, `"secrets", "verbs": ["get", "list"]`),
		"apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-")
	p.refused("apiexport.apis.kcp.io/computecontracts has fields that somebody else manages", `conflict with "other"`, "--force-conflicts").with(url)
	if out := p.ok("--url="+url, "--force-conflicts"); !strings.Contains(out, "apiexport.apis.kcp.io/computecontracts configured\n") {
		p.Error(out)
	}
	if got := get(); !strings.HasSuffix(got, `["get"]`) {
		p.Errorf("the claims are %s", got)
	}
	p.upgraded(url)
	p.exports(url)
}

// upgraded: an export with the schemas of an earlier version gets the new ones.
func (p *provider) upgraded(url string) {
	p.Helper()
	export, err := kcp.Files.ReadFile("apiexport.yaml")
	if err != nil {
		p.Fatal(err)
	}
	schemas := func() string {
		return p.k.Run(p.T, "get", "apiexports", "computecontracts", "-o", "jsonpath={.spec.resources[*].schema}")
	}
	now := schemas()
	p.k.RunIn(p.T, strings.ReplaceAll(string(export), "schema: v1alpha1-", "schema: v1alpha1-0"), "apply", "--server-side", "--field-manager=infra-apiserver-kcp", "-f", "-")
	if schemas() == now {
		p.Fatal("the schemas are the same")
	}
	if out := p.ok("--url=" + url); strings.Count(out, " unchanged\n") != p.objects()-1 || !strings.Contains(out, "apiexport.apis.kcp.io/computecontracts configured\n") {
		p.Errorf("the upgrade said\n%s", out)
	}
	if got := schemas(); got != now {
		p.Errorf("the schemas are %s, they were %s", got, now)
	}
}

// exports of others, of one name each, are left alone.
func (p *provider) exports(url string) {
	p.Helper()
	const export = `{"apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIExport", "metadata": {"name": %q}, "spec": {"resources": [
		{"name": %q, "group": %q, "schema": "v1.x", "storage": %s}]}}`
	const virtual = `{"virtual": {"reference": {"apiGroup": "kcp.socialweb.computer", "kind": "InfraEndpointSlice", "name": %q}, "identityHash": %q}}`
	for name, c := range map[string]struct{ resource, group, storage, want string }{
		"in-kcp":         {"infras", "socialweb.computer", `{"crd": {}}`, "exports infras, whose objects are in kcp (storage.crd)"},
		"other-slice":    {"infras", "socialweb.computer", fmt.Sprintf(virtual, "other", "infra-apiserver"), "exports infras, which another server serves"},
		"other-identity": {"infras", "socialweb.computer", fmt.Sprintf(virtual, "infra", "x"), `exports infras, with the identityHash "x", not "infra-apiserver"`},
		"not-ours":       {"widgets", "example.com", `{"crd": {}}`, "exports widgets.example.com, and isn't of this program"},
	} {
		p.k.RunIn(p.T, fmt.Sprintf(export, name, c.resource, c.group, c.storage), "create", "-f", "-")
		before := p.k.Run(p.T, "get", "apiexports", name, "-o", "jsonpath={.metadata.resourceVersion}")
		p.refused("- the APIExport "+name+" "+c.want, "its APIExportEndpointSlice has no URLs", "--export NAME").with(url, "--export="+name)
		if after := p.k.Run(p.T, "get", "apiexports", name, "-o", "jsonpath={.metadata.resourceVersion}"); after != before {
			p.Errorf("%s was written", name)
		}
		if out := p.k.Run(p.T, "get", "clusterroles", "-o", "name"); strings.Contains(out, "/"+name+"-") {
			p.Errorf("of %s there is\n%s", name, out)
		}
	}
}

// tried: with a shard's certificate the door is opened, with another it isn't.
func (p *provider) tried(url string) {
	p.Helper()
	stranger, err := harness.NewAuthority("nobody")
	if err != nil {
		p.Fatal(err)
	}
	shard := p.shows(shardAuthority, "system:kcp:shard:root")
	p.refused(`doesn't take the certificate of "system:kcp:shard:root" for one of a shard`, `the authority "nobody"`).with(url, p.shows(stranger, "system:kcp:shard:root")...)
	p.refused(`doesn't take the certificate of "admin" for one of a shard`, "--kcp-shard-allowed-names").with(url, p.shows(shardAuthority, "admin")...)
	if out := p.ok(append(shard, "--url="+url)...); strings.Contains(out, "\n? ") {
		p.Errorf("with a shard's certificate it said\n%s", out)
	}
	// Another prefix shows without a certificate, and with one.
	other := p.door + "/services/other"
	p.refused(other+" leads to a Kubernetes API server that has no door for shards there", `--kcp-path-prefix="/services/other"`).with(other)
	p.refused(`this server knows the shard "system:kcp:shard:root", and its door isn't at `+other, `--kcp-path-prefix="/services/other"`).with(other, shard...)
}

// shows are the flags of a certificate that a shard has.
func (p *provider) shows(a *harness.Authority, name string) []string {
	p.Helper()
	pair, err := a.Client(name, "system:masters")
	if err != nil {
		p.Fatal(err)
	}
	dir := p.TempDir()
	files := map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key}
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			p.Fatal(err)
		}
	}
	return []string{"--shard-client-cert-file=" + filepath.Join(dir, "tls.crt"), "--shard-client-key-file=" + filepath.Join(dir, "tls.key")}
}
