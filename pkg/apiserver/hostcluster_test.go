package apiserver

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"socialweb.computer/infra-apiserver/internal/preflight"
)

// What the host can't do is left out, but for what the operator asked for by name.
func TestFitToAnOldHost(t *testing.T) {
	o := NewOptions()
	o.Recommended.Admission.EnablePlugins = []string{"ValidatingAdmissionPolicy"}
	for range 2 { // it may be looked at again
		o.fit(t.Context(), preflight.Host{})
	}
	want := []string{"MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"}
	if diff := cmp.Diff(want, o.Recommended.Admission.DisablePlugins); diff != "" || o.Recommended.Features.EnablePriorityAndFairness {
		t.Errorf("%s, priority and fairness %t", diff, o.Recommended.Features.EnablePriorityAndFairness)
	}
	if errs := o.Recommended.Admission.Validate(); len(errs) > 0 {
		t.Error(errs)
	}
}

// What another kubeconfig does isn't asked of the identity of --kubeconfig.
func TestRightsOfOtherKubeconfigs(t *testing.T) {
	for _, c := range []struct {
		core, authentication, authorization string
		lookup, tokens, access              bool
	}{
		{core: "", lookup: true, tokens: true, access: true},
		{core: "one", lookup: true, tokens: true, access: true},
		{core: "one", authentication: "own", access: true},
		{core: "one", authorization: "own", lookup: true, tokens: true},
		{core: "", authentication: "own", authorization: "own"},
		{core: "one", authentication: "one", authorization: "one", lookup: true, tokens: true, access: true},
	} {
		o := NewOptions()
		o.Recommended.CoreAPI.CoreAPIKubeconfigPath = c.core
		o.Recommended.Authentication.RemoteKubeConfigFile = c.authentication
		o.Recommended.Authorization.RemoteKubeConfigFile = c.authorization
		o.Complete()
		if p := o.preflight(nil); p.AuthenticationLookup != c.lookup || p.TokenReviews != c.tokens || p.AccessReviews != c.access {
			t.Errorf("%+v: lookup %t, token reviews %t, access reviews %t", c, p.AuthenticationLookup, p.TokenReviews, p.AccessReviews)
		}
	}
}

// A warning is logged when it comes, not at each look, and again when it comes back.
func TestWarnsOfWhatIsNew(t *testing.T) {
	var log bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	one, two := preflight.Finding{Fault: "one"}, preflight.Finding{Fault: "two"}
	o := NewOptions()
	for i, c := range []struct {
		warnings []preflight.Finding
		lines    int
	}{
		{[]preflight.Finding{one}, 1},
		{[]preflight.Finding{one}, 0},
		{[]preflight.Finding{one, two}, 1},
		{nil, 0},
		{[]preflight.Finding{two, one}, 2},
	} {
		log.Reset()
		o.warn(ctx, c.warnings)
		if n := strings.Count(log.String(), "fault="); n != c.lines {
			t.Errorf("look %d: %d lines, want %d: %s", i, n, c.lines, log.String())
		}
	}
}

func TestKnowsAuthorities(t *testing.T) {
	pem := func(name string) string {
		t.Helper()
		c, _, err := cert.GenerateSelfSignedCertKey(name, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(c)
	}
	one, two := pem("one"), pem("two")
	ca := func(content ...string) dynamiccertificates.CAContentProvider {
		t.Helper()
		p, err := dynamiccertificates.NewStaticCAContent("ca", []byte(strings.Join(content, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if err := knowsAuthorities(ca(one), []string{one, two})(); err == nil {
		t.Error("ready with one of two")
	}
	if err := knowsAuthorities(ca(two, strings.TrimSpace(one)), []string{one, two})(); err != nil {
		t.Error(err)
	}
	if err := knowsAuthorities(nil, []string{one})(); err != nil {
		t.Error(err)
	}
}

func TestServingOptions(t *testing.T) {
	o := NewOptions().Serving
	if errs := o.check(true); len(errs) > 0 {
		t.Errorf("nothing is asked for: %v", errs)
	}
	o.Secret = "infra-system/serving"
	if errs := o.check(false); len(errs) > 0 {
		t.Error(errs)
	}
	if diff := cmp.Diff([]string{"infra-apiserver.infra-system.svc", "infra-apiserver.infra-system.svc.cluster.local"}, o.names()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(preflight.Name{Namespace: "infra-system", Name: "serving"}, o.secret()); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		change func(*ServingOptions)
		files  bool
		want   string
	}{
		{func(*ServingOptions) {}, true, "--tls-cert-file"},
		{func(o *ServingOptions) { o.Secret = "serving" }, false, "--serving-cert-secret"},
		{func(o *ServingOptions) { o.Secret = "/serving" }, false, "--serving-cert-secret"},
		{func(o *ServingOptions) { o.Service = "a.b" }, false, "--serving-cert-service"},
		{func(o *ServingOptions) { o.ClusterDomain = "" }, false, "--cluster-domain"},
	} {
		wrong := *o
		c.change(&wrong)
		if errs := wrong.check(c.files); len(errs) != 1 || !strings.Contains(errs[0].Error(), c.want) {
			t.Errorf("%+v: %v", wrong, errs)
		}
	}
}
