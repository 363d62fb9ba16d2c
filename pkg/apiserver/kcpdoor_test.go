package apiserver

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/certpair"
	"socialweb.computer/infra-apiserver/internal/metrics"
	"socialweb.computer/infra-apiserver/internal/repostore"
)

// Who is let in, by which path.
func TestWhoIsAShard(t *testing.T) {
	ca, other := newAuthority(t, "kcp"), newAuthority(t, "kcp")
	now := time.Now()
	middle := certificate(t, ca, "kcp middle", asAuthority)
	shard := certificate(t, ca, shardName, nil)
	throughMiddle := certificate(t, middle, shardName, nil)
	server := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }
	middleForServers := certificate(t, ca, "kcp servers", func(c *x509.Certificate) { asAuthority(c); server(c) })
	// What the paths kcp's own, plain and other answer; "": let through.
	type answers struct{ own, plain, other metrics.DoorRefusal }
	stranger := answers{metrics.DoorCertificate, "", ""}
	for name, c := range map[string]struct {
		tls  *tls.ConnectionState
		want answers
	}{
		"a shard":                          {over(shard), answers{"", "", metrics.DoorElsewhere}},
		"of another name that matches":     {over(certificate(t, ca, "system:kcp:shard:b", nil)), answers{"", "", metrics.DoorElsewhere}},
		"by a middle":                      {over(throughMiddle, middle), answers{"", "", metrics.DoorElsewhere}},
		"with what leads nowhere":          {over(shard, other), answers{"", "", metrics.DoorElsewhere}},
		"by a middle that isn't sent":      {over(throughMiddle), stranger},
		"by a middle for servers":          {over(certificate(t, middleForServers, shardName, nil), middleForServers), stranger},
		"signed by a shard":                {over(certificate(t, shard, shardName, nil), shard), stranger},
		"the shard's is second":            {over(certificate(t, other, shardName, nil), shard), stranger},
		"no TLS":                           {nil, answers{metrics.DoorNoCertificate, "", ""}},
		"no certificate":                   {over(), answers{metrics.DoorNoCertificate, "", ""}},
		"another authority":                {over(certificate(t, other, shardName, nil)), stranger},
		"signed by itself":                 {over(certificate(t, nil, shardName, nil)), stranger},
		"expired":                          {over(certificateFor(t, ca, shardName, now.Add(-time.Hour), now.Add(-time.Second), nil)), stranger},
		"not valid yet":                    {over(certificateFor(t, ca, shardName, now.Add(time.Hour), now.Add(2*time.Hour), nil)), stranger},
		"for servers":                      {over(certificate(t, ca, shardName, server)), stranger},
		"for nothing in particular":        {over(certificate(t, ca, shardName, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} })), stranger},
		"another name":                     {over(certificate(t, ca, "alice", nil)), stranger},
		"the name within another":          {over(certificate(t, ca, "x"+shardName, nil)), stranger},
		"no name":                          {over(certificate(t, ca, "", nil)), stranger},
		"the name as a host":               {over(certificate(t, ca, "alice", func(c *x509.Certificate) { c.DNSNames = []string{shardName} })), stranger},
		"a name of kcp's, not let in":      {over(certificate(t, ca, "system:kcp:front-proxy", nil)), answers{metrics.DoorName, metrics.DoorName, metrics.DoorName}},
		"a name of kcp's, other authority": {over(certificate(t, other, "system:kcp:front-proxy", nil)), stranger},
	} {
		for path, want := range map[string]metrics.DoorRefusal{
			kcpPrefix + "/clusters/w1" + infras: c.want.own, kcpPrefix + "/clusters/%2A" + infras: c.want.own, kcpPrefix + "/clusters/": map[bool]metrics.DoorRefusal{true: metrics.DoorPath, false: c.want.own}[c.want.own == ""],
			"/clusters/w1" + infras: c.want.plain,
			infras:                  c.want.other, "/metrics": c.want.other, "/livez": c.want.other, "/": c.want.other, kcpPrefix: c.want.other, kcpPrefix + "/clusters": c.want.other,
			"/services/%69nfra/clusters/w1" + infras: c.want.other, kcpPrefix + "x/clusters/w1" + infras: c.want.other, "/x" + kcpPrefix + "/clusters/w1" + infras: c.want.other,
			"//clusters/w1" + infras: c.want.other, "/%63lusters/w1" + infras: c.want.other, "/apis/../clusters/w1" + infras: c.want.other,
		} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.TLS = c.tls
			t.Run(name+" "+path, func(t *testing.T) {
				var came *http.Request
				w, log := send(t, doors{http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { came = r }), Codecs, believing(ca)}, r, want)
				if (came != nil) != (want == "") {
					t.Fatalf("through: %t, answered %d", came != nil, w.Code)
				}
				code := map[metrics.DoorRefusal]int{"": 200, metrics.DoorNoCertificate: 401, metrics.DoorPath: 400}[want]
				if code == 0 {
					code = 403
				}
				if w.Code != code {
					t.Errorf("answered %d, want %d", w.Code, code)
				}
				if want != "" && r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && !strings.Contains(log, `certificate="`+r.TLS.PeerCertificates[0].Subject.CommonName+`"`) && r.TLS.PeerCertificates[0].Subject.CommonName != "" {
					t.Errorf("the log lacks the name: %s", log)
				}
				if came == nil {
					return
				}
				e, shard := entryFrom(came.Context()), c.want.own == ""
				switch _, _, atDoor := believing(ca).cut(path); {
				case !atDoor && (e != nil || came.URL.Path != r.URL.Path):
					t.Errorf("came in by a door, to %s", came.URL.Path)
				case atDoor && (e == nil || (e.shard != "") != shard || came.URL.Path != infras):
					t.Errorf("entry %+v, path %s", e, came.URL.Path)
				}
			})
		}
	}
}

// Without authorities there is no door for shards, and no path of theirs.
func TestShutToShards(t *testing.T) {
	ca := newAuthority(t, "kcp")
	for _, path := range []string{kcpPrefix + "/clusters/w1" + infras, infras, "/clusters/w1" + infras} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.TLS = over(certificate(t, ca, shardName, nil))
		send(t, doors{http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if e := entryFrom(r.Context()); e != nil && e.shard != "" {
				t.Errorf("%s: came in as a shard", path)
			}
		}), Codecs, nil}, r, "")
	}
	// Nor where the authorities could not be read.
	d := believing(ca)
	d.authorities = func() (x509.VerifyOptions, bool) { return x509.VerifyOptions{}, false }
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, kcpPrefix+"/clusters/w1"+infras, nil)
	r.TLS = over(certificate(t, ca, shardName, nil))
	send(t, doors{http.NotFoundHandler(), Codecs, d}, r, metrics.DoorCertificate)
}

// What a shard can't ask for in its workspaces, and what it can.
func TestPathsOfShards(t *testing.T) {
	ca := newAuthority(t, "kcp")
	shard := certificate(t, ca, shardName, nil)
	for _, prefix := range []string{kcpPrefix, ""} {
		for _, c := range []struct {
			method, path string
			code         int
			reason       metrics.DoorRefusal
		}{
			{"GET", "/clusters/w1" + infras + "/a/status?watch=1", 200, ""},
			{"PATCH", "/clusters/w1" + infras + "/a", 200, ""},
			{"GET", "/clusters/2hq3ixgo8yp4kk0v" + infras, 200, ""},
			{"GET", "/clusters/%2A/apis/socialweb.computer/v1alpha1", 200, ""},
			{"GET", "/clusters/%2a" + infras, 200, ""},
			{"GET", "/clusters/*" + infras, 200, ""},
			{"GET", "/clusters/%77%31" + infras, 200, ""},
			{"POST", "/clusters/%2A" + infras, 405, metrics.DoorPath},
			{"DELETE", "/clusters/*" + infras, 405, metrics.DoorPath},
			{"GET", "/clusters/default" + infras, 403, metrics.DoorWorkspace},
			{"GET", "/clusters/%64efault" + infras, 403, metrics.DoorWorkspace},
			{"GET", "/clusters/Default" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/w1:w2" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/root:org" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/w1%2Fapis" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/w1%2F..%2Fw2" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/w1%5Cw2" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/.." + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/%2e%2e" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/." + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/%2577%2531" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/%252A" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/w1%00" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/w1%0A" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/w1%20" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/w1;x=y" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/w%C3%A91" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/w1/.." + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/w1/../w2" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/w1" + infras + "/../../../../../w2" + infras, 400, metrics.DoorPath},
			{"GET", "/clusters/w1" + infras + "/%2e%2e", 400, metrics.DoorPath},
			{"GET", "/clusters/w1" + infras + "/a%2Fstatus", 400, metrics.DoorPath},
			{"GET", "/clusters/w1" + infras + "/a%252Fstatus", 400, metrics.DoorPath},
			{"GET", "/clusters/w1" + infras + "/a%5Cb", 400, metrics.DoorPath},
			{"GET", "/clusters/w1" + infras + "/a%0D%0Ab", 400, metrics.DoorPath},
			{"GET", "/clusters/w1" + infras + "/", 404, metrics.DoorPath},
			{"GET", "/clusters/w1/" + infras, 404, metrics.DoorPath},
			{"GET", "/clusters/w1/metrics", 404, metrics.DoorPath},
			{"GET", "/clusters/w1/clusters/w2" + infras, 404, metrics.DoorPath},
			{"GET", "/clusters/w1" + kcpPrefix + "/clusters/w2" + infras, 404, metrics.DoorPath},
			{"GET", "/clusters/w1", 404, metrics.DoorPath},
		} {
			r := httptest.NewRequestWithContext(t.Context(), c.method, prefix+c.path, nil)
			r.TLS, r.Host = over(shard), "kcp.example.com"
			w, _ := send(t, doors{http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), Codecs, believing(ca)}, r, c.reason)
			if w.Code != c.code {
				t.Errorf("%s %s: %d, want %d", c.method, prefix+c.path, w.Code, c.code)
			}
		}
	}
}

// The log has what a stranger wrote, but not much of it, and no line of its own.
func TestLogOfRefusals(t *testing.T) {
	name := "x" + strings.Repeat("n", 400)
	stranger := certificate(t, nil, name+"\nE1130 forged", nil)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, kcpPrefix+"/clusters/w1%0Aforged"+strings.Repeat("/x", 400), nil)
	r.TLS = over(stranger)
	for _, h := range []string{"Authorization", "X-Remote-User", "X-Other"} {
		r.Header.Set(h, "secret-"+h)
	}
	w, log := send(t, doors{http.NotFoundHandler(), Codecs, believing(newAuthority(t, "kcp"))}, r, metrics.DoorCertificate)
	if strings.Contains(log, "secret-") || strings.Contains(w.Body.String(), "secret-") {
		t.Errorf("tells a header: %s", log)
	}
	if len(log) > 1500 || strings.Count(log, "\n") != 1 || !strings.Contains(log, `remote="192.0.2.1:1234"`) {
		t.Errorf("%d bytes: %s", len(log), log)
	}
}

// HTTP/2: a stranger's connection ends with the refusal, a shard's goes on.
func TestConnectionsOfStrangers(t *testing.T) {
	ca := newAuthority(t, "kcp")
	for chain, want := range map[*certpair.Pair]string{certificate(t, nil, shardName, nil): "close", certificate(t, ca, shardName, nil): ""} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, kcpPrefix+"/clusters/w1/nothing", nil)
		r.TLS, r.ProtoMajor = over(chain), 2
		w := httptest.NewRecorder()
		doors{http.NotFoundHandler(), Codecs, believing(ca)}.ServeHTTP(w, r)
		if got := w.Header().Get("Connection"); got != want {
			t.Errorf("Connection: %q, want %q", got, want)
		}
	}
}

// All of the door that the storage sees is the workspace.
func TestWorkspaceOfShards(t *testing.T) {
	ca := newAuthority(t, "kcp")
	for path, want := range map[string]string{"/clusters/w1": "w1", "/clusters/%2A": "*", "/clusters/w-2": "w-2"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, kcpPrefix+path+infras, nil)
		r.TLS = over(certificate(t, ca, shardName, nil))
		send(t, doors{http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			ws, ok := repostore.WorkspaceFrom(r.Context())
			if of, shard := ofShard(r.Context()); ws != want || !ok || of != want || !shard {
				t.Errorf("%s: %q, %q", path, ws, of)
			}
		}), Codecs, believing(ca)}, r, "")
	}
	if _, ok := ofShard(t.Context()); ok {
		t.Error("nothing came from a shard")
	}
}
