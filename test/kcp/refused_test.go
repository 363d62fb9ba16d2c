package kcp

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/certpair"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// TestRefused: what must not come in, doesn't. No other test runs beside it: all that
// the server keeps, logs and counts is compared.
func TestRefused(t *testing.T) {
	v := newVictim(t)
	for name, attempts := range map[string]func(*testing.T){
		"without a shard's certificate": v.withoutACertificate, "a shard elsewhere": v.elsewhere, "paths": v.paths,
	} {
		t.Run(name, func(t *testing.T) {
			attempts(t)
			v.untouched(t)
		})
	}
}

// victim is the workspace that nothing of the refused requests may touch.
type victim struct {
	*tenant
	env       *env
	neighbour *tenant
	before    stored
	counted   map[string]float64 // by the metric, by reason
	refusals  map[string]float64 // that there must be more
}

func newVictim(t *testing.T) *victim {
	t.Helper()
	e := start(t)
	v := &victim{env: e, tenant: e.tenant(t, "victim"), neighbour: e.tenant(t, "victim-neighbour"), refusals: map[string]float64{}}
	for _, w := range []*tenant{v.tenant, v.neighbour} {
		w.create(t, "a", "of "+w.name)
		w.settled(t)
	}
	// What earlier tests left has come to rest.
	waitFor(t, "everything in sync", func() error {
		for _, i := range decode[v1alpha1.InfraList](t, e.all(t, infras+"?resourceVersion=0").body).Items {
			if i.Status.Record != nil && i.Status.Record.Direction != v1alpha1.DirectionInSync {
				return fmt.Errorf("%s in %s: %+v", i.Name, i.Annotations["kcp.io/cluster"], i.Status.Record)
			}
		}
		return nil
	})
	v.counted, v.before = refusals(t), e.stored(t, v.account, v.neighbour.account)
	return v
}

// untouched tells what was touched, or counted wrong.
func (v *victim) untouched(t *testing.T) {
	t.Helper()
	v.before.untouched(t, v.env.stored(t, v.account, v.neighbour.account))
	for _, w := range []*tenant{v.tenant, v.neighbour} {
		if got := w.infra(t, "a"); got.Spec.Description != "of "+w.name || w.record(t, "a")["description"] != "of "+w.name {
			t.Errorf("a in %s is %+v", w.name, got.Spec)
		}
	}
	for reason, n := range refusals(t) {
		if n-v.counted[reason] != v.refusals[reason] {
			t.Errorf("the metric counts %v refusals because of %s, there were %v", n-v.counted[reason], reason, v.refusals[reason])
		}
	}
}

// attempt is a request that must be refused.
type attempt struct {
	request
	status []int  // that it may have; the first is the usual one
	reason string // in log and metric; "": refused by what stands behind the door, or before it
}

// refuse sends an attempt: its answer is a Status, and the log and the metric tell it
// once.
func (v *victim) refuse(t *testing.T, who string, s *shard, a attempt) {
	t.Helper()
	mark := logs.Len()
	got := s.do(t, a.request)
	what := fmt.Sprintf("%s: %s %s", who, or(a.method, http.MethodGet), a.path)
	if !contains(a.status, got.status) {
		t.Errorf("%s: %d %.300s, want %v", what, got.status, got.body, a.status)
	}
	if got.fault.Status != metav1.StatusFailure || int(got.fault.Code) != got.status || got.fault.Message == "" {
		t.Errorf("%s: no Status: %.300s", what, got.body)
	}
	for _, secret := range []string{v.neighbour.account.DID, v.account.DID, "of " + v.name} {
		if strings.Contains(got.body, secret) {
			t.Errorf("%s: the answer tells %q: %s", what, secret, got.body)
		}
	}
	if a.reason == "" {
		return
	}
	v.refusals[a.reason]++
	lines := logged(mark)
	path, _, _ := strings.Cut(a.path, "?")
	path = fmt.Sprintf("path=%.200q", path)
	if len(lines) != 1 || !strings.Contains(lines[0], fmt.Sprintf("reason=%q", a.reason)) || !strings.Contains(lines[0], path[:len(path)-1]) ||
		!strings.Contains(lines[0], `remote="127.0.0.1:`) {
		t.Errorf("%s: logged %q, want one line of %s", what, lines, a.reason)
	}
	for _, l := range lines {
		if strings.Contains(l, "forged-word") {
			t.Errorf("%s: the log has a header's value: %s", what, l)
		}
	}
}

func contains[T comparable](list []T, x T) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// everything is one request of each kind to a door of the workspace.
func everything(door string) []request {
	return []request{
		{path: door + groupPath},
		{path: door + infras},
		{path: door + infras + "?watch=1&resourceVersion=0&timeoutSeconds=5"},
		{path: door + infras + "/a"},
		{method: http.MethodPost, path: door + infras, body: newInfra("b", "forged-word")},
		{method: http.MethodPut, path: door + infras + "/a", body: newInfra("a", "forged-word")},
		{method: http.MethodPatch, path: door + infras + "/a", kind: mergePatch, body: `{"spec":{"description":"forged-word"}}`},
		{method: http.MethodPatch, path: door + infras + "/a/status", kind: mergePatch, body: `{"status":{"phase":"Deployed"}}`},
		{method: http.MethodDelete, path: door + infras + "/a"},
		{method: http.MethodDelete, path: door + infras},
	}
}

// three are enough of them where each costs a handshake.
func three(door string) []request {
	all := everything(door)
	return []request{all[2], all[4], all[8]}
}

// forged are headers by which a stranger says that he is somebody.
var forged = []http.Header{
	{},
	{"X-Remote-User": {"system:kcp:shard:root"}, "X-Remote-Group": {"system:masters", "forged-word"}, "X-Remote-Extra-Scopes": {"forged-word"}},
	{"x-remote-user": {"forged-word"}, "X_Remote_Group": {"system:masters"}},
	{"Authorization": {"Bearer forged-word"}},
	{"X-Forwarded-Client-Cert": {`Subject="CN=system:kcp:shard:root,O=system:masters";forged-word`}, "X-Forwarded-For": {"127.0.0.1"}, "X-Client-Cert": {"forged-word"}},
}

// withoutACertificate: whoever has no certificate of a shard gets nothing by
// kcp's path, whatever else he shows, and by the plain one only what he may.
func (v *victim) withoutACertificate(t *testing.T) {
	t.Helper()
	other, now := newAuthority(t, "kcp-client-ca"), time.Now() // of the same name
	leaf := v.env.ca.client(t, "system:kcp:shard:leaf")
	byLeaf := authority{&certpair.Pair{Cert: leaf.Leaf, Key: v.keyOf(leaf)}}.client(t, "system:kcp:shard:root")
	byLeaf.Certificate = append(byLeaf.Certificate, leaf.Certificate[0])
	behind := other.client(t, "system:kcp:shard:root")
	behind.Certificate = append(behind.Certificate, leaf.Certificate[0])
	serving := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }
	none, stranger, named, access := "no_certificate", "certificate", "name", "unauthenticated"
	for who, c := range map[string]struct {
		cert             *tls.Certificate
		status           int // by kcp's path
		reason           string
		plain            int // by the other
		reasonOfThePlain string
	}{
		"no certificate":                      {nil, 401, none, 401, access},
		"another CA of the same name":         {other.client(t, "system:kcp:shard:root"), 403, stranger, 401, access},
		"no CA":                               {authority{}.client(t, "system:kcp:shard:root"), 403, stranger, 401, access},
		"another CA, a shard's behind it":     {behind, 403, stranger, 401, access},
		"a shard as its CA":                   {byLeaf, 403, stranger, 401, access},
		"of kcp, no shard":                    {v.env.ca.client(t, "system:kcp:logical-cluster-admin"), 403, named, 403, named},
		"of kcp, the administrator":           {v.env.ca.client(t, "kcp-admin"), 403, stranger, 401, access},
		"of kcp, a name in capitals":          {v.env.ca.client(t, "SYSTEM:KCP:SHARD:ROOT"), 403, stranger, 401, access},
		"of kcp, a shard's with more before":  {v.env.ca.client(t, "x.system:kcp:shard:root"), 403, stranger, 401, access},
		"of kcp, no name":                     {v.env.ca.client(t, ""), 403, stranger, 401, access},
		"of kcp, a name that is in SANs only": {v.env.ca.client(t, "kcp", func(c *x509.Certificate) { c.DNSNames = []string{"system:kcp:shard:root"} }), 403, stranger, 401, access},
		"of kcp, expired":                     {v.env.ca.issue(t, now.Add(-time.Hour), now.Add(-time.Minute), "system:kcp:shard:root"), 403, stranger, 401, access},
		"of kcp, of tomorrow":                 {v.env.ca.issue(t, now.Add(time.Hour), now.Add(2*time.Hour), "system:kcp:shard:root"), 403, stranger, 401, access},
		"of kcp, for servers":                 {v.env.ca.client(t, "system:kcp:shard:root", serving), 403, stranger, 401, access},
		"of kcp, for servers, a longer chain": {withAuthority(v.env.ca.client(t, "system:kcp:shard:root", serving), v.env.ca), 403, stranger, 401, access},
	} {
		s := v.env.connect(t, c.cert)
		headers, some := forged, everything
		if c.cert != nil {
			headers, some = forged[1:2], three
		}
		for _, h := range headers {
			for _, r := range some(prefix + "/clusters/" + v.name) {
				r.header = h.Clone()
				v.refuse(t, who, s, attempt{r, []int{c.status}, c.reason})
			}
			for _, r := range some("/clusters/" + v.name) {
				r.header = h.Clone()
				v.refuse(t, who+", plain", s, attempt{r, []int{c.plain}, c.reasonOfThePlain})
			}
		}
		v.refuse(t, who, s, attempt{request{path: prefix + "/clusters/%2A" + infras}, []int{c.status}, c.reason})
	}
}

// keyOf is a certificate's key.
func (*victim) keyOf(c *tls.Certificate) signer { return c.PrivateKey.(signer) }

// withAuthority is a certificate sent with the one that signed it.
func withAuthority(c *tls.Certificate, ca authority) *tls.Certificate {
	c.Certificate = append(c.Certificate, ca.Cert.Raw)
	return c
}

// elsewhere: a shard's certificate opens workspaces and nothing else, whoever
// the request says that it comes from.
func (v *victim) elsewhere(t *testing.T) {
	t.Helper()
	door := prefix + "/clusters/" + v.name
	masters := http.Header{"X-Remote-User": {"system:apiserver"}, "X-Remote-Group": {"system:masters"}}
	for _, h := range []http.Header{{}, masters} {
		var attempts []attempt
		add := func(status int, reason string, paths ...string) {
			for _, p := range paths {
				attempts = append(attempts, attempt{request{path: p, header: h.Clone()}, []int{status}, reason})
			}
		}
		add(403, "elsewhere", "/", "/api", "/apis", groupPath, infras, infras+"/a", "/metrics", "/livez", "/readyz", "/healthz", "/version", "/openapi/v2", "/openapi/v3", "/debug/pprof/", "/configz",
			prefix, prefix+"/", prefix+"/clusters", prefix+infras, prefix+"/livez", "/services", "/services/", "/services/infrax/clusters/"+v.name+infras, "/services/other/clusters/"+v.name+infras, "/clusters",
			"/x"+prefix+"/clusters/"+v.name+infras, prefix+"/x/clusters/"+v.name+infras, "/SERVICES/INFRA/clusters/"+v.name+infras, prefix+"/Clusters/"+v.name+infras)
		add(404, "path", door, door+"/", door+"/livez", door+"/metrics", door+"/healthz", door+"/debug/pprof", door+"/apisx", door+"/x"+infras, door+prefix+"/clusters/"+v.name+infras, door+"/clusters/"+v.name+infras, "/clusters/"+v.name+"/metrics")
		add(403, "verb", door+"/api/v1/namespaces/infra-system/secrets", door+"/api/v1/namespaces", door+"/apis/rbac.authorization.k8s.io/v1/clusterroles", door+"/apis/apis.kcp.io/v1alpha2/apibindings")
		add(403, "workspace", prefix+"/clusters/default"+infras, "/clusters/default"+infras, prefix+"/clusters/default"+groupPath)
		attempts = append(attempts,
			attempt{request{method: http.MethodPost, path: door + "/apis/authorization.k8s.io/v1/subjectaccessreviews", body: `{}`, header: h.Clone()}, []int{403}, "verb"},
			attempt{request{method: http.MethodPost, path: door + groupPath, body: `{}`, header: h.Clone()}, []int{403}, "verb"},
			attempt{request{method: http.MethodOptions, path: door + infras, header: h.Clone()}, []int{403}, "verb"},
			attempt{request{method: "TRACE", path: door + infras, header: h.Clone()}, []int{403}, "verb"})
		for _, r := range everything(prefix + "/clusters/%2A") {
			if r.method != "" {
				r.header = h.Clone()
				attempts = append(attempts, attempt{r, []int{405}, "path"})
			}
		}
		for _, r := range everything(prefix + "/clusters/default") {
			r.header = h.Clone()
			attempts = append(attempts, attempt{r, []int{403}, "workspace"})
		}
		for _, a := range attempts {
			v.refuse(t, fmt.Sprint("a shard, ", h), v.env.shard, a)
		}
		v.refuse(t, "a shard", v.env.shard, attempt{request{path: prefix + "/clusters/*" + infras + "/a", header: h.Clone()}, []int{400}, ""})
	}
	for _, who := range []string{"Impersonate-User", "Impersonate-Uid", "Impersonate-Group"} {
		for _, r := range everything(door) {
			r.header = http.Header{"Impersonate-User": {"forged-word"}, who: {"forged-word"}}
			v.refuse(t, who, v.env.shard, attempt{r, []int{403}, "verb"})
		}
	}
}

// paths: what stands where a workspace's name should, and ways out of it, over a
// shard's own certificate.
func (v *victim) paths(t *testing.T) {
	t.Helper()
	ws, neighbour := v.name, v.neighbour.name
	bad := []string{
		"", ".", "..", "...", "%2e", "%2e%2e", "%2E.", ".%2e", "..%2f" + neighbour, ws + "%2F", ws + "%2F.." + "%2F" + neighbour, ws + "%2fapis", "%2F" + ws, "%5c" + ws, ws + "%5C..",
		"%252A", "%25%32%41", "%25" + ws, "%2576ictim", "**", "*" + ws, ws + "*", "%2A%2A", "*%2F" + ws, "%2A,", "VICTIM", "Victim", "vic_tim", "vic.tim", "root:org:" + ws, ws + ":" + neighbour, ws + ";" + neighbour, ws + ",",
		ws + "%00", ws + "%0a", ws + "%0d%0a", ws + "%20", "%20" + ws, ws + "%09", ws + "+", "-" + ws, ws + "-", "v%C3%ADctim", "%c0%ae%c0%ae", "%ff", "%E2%80%AE" + ws, "v%D1%96ctim", ws + "%3Fx", ws + "%23", ws + "@", ws + "=1", "~", "$", "(" + ws + ")",
		strings.Repeat("a", 64), strings.Repeat("a", 200),
	}
	for _, segment := range bad {
		for _, door := range []string{prefix + "/clusters/", "/clusters/"} {
			for _, r := range []request{{path: door + segment + infras}, {method: http.MethodDelete, path: door + segment + infras + "/a"}} {
				v.refuse(t, "segment", v.env.shard, attempt{r, []int{400, 404, 405}, "path"})
			}
		}
	}
	door := prefix + "/clusters/" + ws
	for _, path := range []string{
		door + "/../" + neighbour + infras + "/a", door + "/%2e%2e/" + neighbour + infras + "/a", door + "/./apis", door + "//apis", door + "/" + infras + "/a", door + "/apis//socialweb.computer/v1alpha1/infras/a",
		door + "/apis/../../" + neighbour + infras + "/a", door + "/apis/%2E%2E/%2e%2e/" + neighbour + infras, door + infras + "/", door + infras + "//a", door + infras + "/..", door + infras + "/.", door + infras + "/%2e%2e",
		door + infras + "/..%2f..%2f" + neighbour + "%2Fa", door + infras + "/..%5c" + neighbour, door + infras + "/a%2Fb", door + infras + "/a%2fstatus", door + infras + "/a%00", door + infras + "/%2e%2e%2fa", door + infras + "/%252e%252e%252fa",
		door + infras + "/a/status/../../../" + neighbour, door + infras + "%2Fa", door + "%2Fapis%2Fsocialweb.computer%2Fv1alpha1%2Finfras", door + "/apis%2Fsocialweb.computer/v1alpha1/infras",
	} {
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			v.refuse(t, "way out", v.env.shard, attempt{request{method: method, path: path}, []int{400, 404}, "path"})
		}
	}
	for _, path := range []string{
		"/services/../services/infra/clusters/" + ws + infras, "/services/./infra/clusters/" + ws + infras, "/services//infra/clusters/" + ws + infras, prefix + "//clusters/" + ws + infras, prefix + "/../../clusters/" + ws + infras,
		"/services%2Finfra/clusters/" + ws + infras, "/%73ervices/infra/clusters/" + ws + infras, prefix + "/clusters%2F" + ws + infras, prefix + "/%63lusters/" + ws + infras, "/%63lusters/" + ws + infras, prefix + "%2fclusters/" + ws + infras,
		prefix + "/clusters;x/" + ws + infras, "/services/infra;x/clusters/" + ws + infras,
	} {
		v.refuse(t, "another prefix", v.env.shard, attempt{request{path: path}, []int{403}, "elsewhere"})
	}
	// A path too long for the log is there by its beginning.
	v.refusals["path"]++
	mark := logs.Len()
	if a := v.env.shard.do(t, request{path: prefix + "/clusters/" + strings.Repeat("a", 5000) + infras}); a.status != http.StatusBadRequest {
		t.Errorf("a long path: %d %s", a.status, a.body)
	}
	if l := logged(mark); len(l) != 1 || len(l[0]) > 1000 || !regexp.MustCompile(`path="/services/infra/clusters/a{200,}…"`).MatchString(l[0]) {
		t.Errorf("a long path is logged as %q", l)
	}
}
