package apiserver

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"

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
