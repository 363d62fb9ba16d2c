//go:build e2e

package lifecycle

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/cert"

	"socialweb.computer/infra-apiserver/internal/servingcert"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

const (
	keptSecret  = "infra-apiserver-serving"
	keptService = "rotating"
	keptMarker  = "here" // an Infra that only the two servers have
)

// kept are two servers that share their certificate in the Secret of the manifests,
// with the rights of the manifests, one of them behind the APIService.
type kept struct {
	t       *testing.T
	guests  []*harness.Guest
	watches []watch.Interface
	count   int
	before  string // the Service of the APIService
}

// restore gives the APIService back to the plane's replicas.
func (k *kept) restore() {
	k.t.Helper()
	for _, g := range k.guests { // or they would write the APIService again
		g.Process.Signal(syscall.SIGTERM)
		<-g.Process.Done()
	}
	patchAPIService(k.t, k.before, base64.StdEncoding.EncodeToString(plane.ServingAuthority().PEM))
	plane.Available(k.t, true)
	k.reached(false)
}

// reached waits until requests through the aggregator come to the two servers, or to
// the plane's replicas again. It watches APIServices and Services, and nothing but an
// answer tells how far it is: the condition Available may be that of before.
func (k *kept) reached(theirs bool) {
	k.t.Helper()
	harness.Eventually(k.t, func(ctx context.Context) error {
		_, err := harness.NewClients(k.t, plane.Config()).Infra.SocialwebV1alpha1().Infras().Get(ctx, keptMarker, metav1.GetOptions{})
		if apierrors.IsNotFound(err) && !theirs {
			return nil
		}
		if err == nil && !theirs {
			return errors.New("the two servers answer")
		}
		return err
	})
}

// keep points the APIService at them, with a caBundle that isn't theirs.
func keep(t *testing.T) *kept {
	t.Helper()
	k := plane.Kubectl(t)
	k.Run(t, "apply", "-f", plane.Manifest("base/serving-certificate.yaml"))
	flags := []string{
		"--serving-cert-secret=" + harness.Namespace + "/" + keptSecret, "--serving-cert-service=" + keptService,
		"--serving-cert-apiservice=" + harness.APIServiceName, "--shutdown-watch-termination-grace-period=1s",
	}
	out := &kept{t: t}
	for range 2 {
		out.guests = append(out.guests, plane.Guest(t, harness.GuestOptions{Prefix: "/registry/rotating", OwnCertificate: true, Flags: flags}))
	}
	host, port, _ := strings.Cut(out.guests[0].Addr, ":")
	k.RunIn(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": %q, "namespace": %q},
		"spec": {"type": "ExternalName", "externalName": %q}}`, keptService, harness.Namespace, host), "apply", "-f", "-")
	out.before = k.Run(t, "get", "apiservice", harness.APIServiceName, "-o", "jsonpath={.spec.service}")
	patchAPIService(t, fmt.Sprintf(`{"name": %q, "namespace": %q, "port": %s}`, keptService, harness.Namespace, port), "")
	for _, g := range out.guests {
		harness.Eventually(t, g.Ready)
	}
	// A caBundle that somebody reset is put back after a minute, so it is done here
	// by waking the servers.
	out.patchSecret(`{"metadata": {"labels": {"looked": "at"}}}`)
	plane.Available(t, true)
	if _, err := harness.NewClients(t, out.guests[0].Direct(plane.Config())).Infra.SocialwebV1alpha1().Infras().Create(t.Context(), harness.NewInfra(keptMarker), metav1.CreateOptions{}); err != nil {
		t.Fatal(harness.Explain(err))
	}
	out.reached(true)
	return out
}

func patchAPIService(t *testing.T, service, bundle string) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec": {"service": %s, "caBundle": %q}}`, service, bundle)
	if _, err := plane.Admin().Dynamic.Resource(harness.APIServices).Patch(context.WithoutCancel(t.Context()), harness.APIServiceName,
		types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (k *kept) secret() *corev1.Secret {
	k.t.Helper()
	s, err := plane.Admin().Core.CoreV1().Secrets(harness.Namespace).Get(k.t.Context(), keptSecret, metav1.GetOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	return s
}

func (k *kept) patchSecret(patch string) {
	k.t.Helper()
	if _, err := plane.Admin().Core.CoreV1().Secrets(harness.Namespace).Patch(k.t.Context(), keptSecret,
		types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		k.t.Fatal(err)
	}
}

// trusted is how many authorities the APIService trusts.
func (k *kept) trusted() (string, int) {
	k.t.Helper()
	encoded := plane.Kubectl(k.t).Run(k.t, "get", "apiservice", harness.APIServiceName, "-o", "jsonpath={.spec.caBundle}")
	bundle, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		k.t.Fatal(err)
	}
	certs, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return string(bundle), 0
	}
	return string(bundle), len(certs)
}

// settled waits until both serve what the Secret holds, which is another leaf than
// before, and the APIService trusts it; it returns the leaf.
func (k *kept) settled(before string, authorities int) string {
	k.t.Helper()
	var leaf string
	harness.Eventually(k.t, func(ctx context.Context) error {
		s := k.secret()
		leaf = string(s.Data[servingcert.LeafCert])
		if bundle, n := k.trusted(); bundle != string(s.Data[servingcert.Bundle]) || n != authorities {
			return fmt.Errorf("the APIService trusts %d authorities, not those of the Secret, or not %d", n, authorities)
		}
		if leaf == before {
			return errors.New("the Secret holds the leaf of before")
		}
		for _, g := range k.guests {
			c, err := g.Certificate(ctx)
			if err != nil {
				return err
			}
			if served, err := cert.EncodeCertificates(c); err != nil || string(served) != leaf {
				return fmt.Errorf("%s serves another certificate: %w", g.Name, err)
			}
		}
		return nil
	})
	return leaf
}

// works demands that requests come through, by new connections too, and that every
// watch that was ever opened still tells what happens.
func (k *kept) works(when string) {
	k.t.Helper()
	name := k.next()
	if err := k.create(k.t.Context(), name); err != nil {
		k.t.Fatalf("%s: %v", when, harness.Explain(err))
	}
	k.told(when, name)
}

// comesBack is works after the aggregator was left with nothing that it trusts: requests
// fail until it has seen the new caBundle, and what tells how far it is may be of before.
func (k *kept) comesBack(when string) {
	k.t.Helper()
	name := k.next()
	harness.Eventually(k.t, func(ctx context.Context) error {
		if err := k.create(ctx, name); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s: %w", when, harness.Explain(err))
		}
		return nil
	})
	k.told(when, name)
}

// next is another name.
func (k *kept) next() string {
	k.count++
	return fmt.Sprintf("o%d", k.count)
}

// create makes an Infra through the aggregator.
func (k *kept) create(ctx context.Context, name string) error {
	_, err := harness.NewClients(k.t, plane.Config()).Infra.SocialwebV1alpha1().Infras().Create(ctx, harness.NewInfra(name), metav1.CreateOptions{})
	return err
}

// told reads every watch up to an Infra.
func (k *kept) told(when, name string) {
	k.t.Helper()
	for i, w := range k.watches {
		for seen := ""; seen != name; {
			e, open := <-w.ResultChan()
			if !open {
				k.t.Fatalf("%s: watch %d was dropped", when, i)
			}
			b, err := json.Marshal(e.Object)
			if err != nil {
				k.t.Fatal(err)
			}
			var o metav1.PartialObjectMetadata
			if err := json.Unmarshal(b, &o); err != nil {
				k.t.Fatal(err)
			}
			seen = o.Name
		}
	}
}

func (k *kept) watch() {
	k.t.Helper()
	configs := []*harness.Clients{harness.NewClients(k.t, plane.Config())}
	for _, g := range k.guests {
		configs = append(configs, harness.NewClients(k.t, g.Direct(plane.Config())))
	}
	for _, c := range configs {
		w, err := c.Infra.SocialwebV1alpha1().Infras().Watch(k.t.Context(), metav1.ListOptions{})
		if err != nil {
			k.t.Fatal(err)
		}
		k.t.Cleanup(w.Stop)
		k.watches = append(k.watches, w)
	}
}

// TestOwnServingCertificate (C39): with the manifests' Secret and rights, two
// servers share one certificate, put its authority into the APIService, and serve
// each new one without a restart, a dropped watch or a failed request.
func TestOwnServingCertificate(t *testing.T) {
	k := keep(t)
	defer k.restore()
	first := k.settled("", 1)
	k.watch()
	k.works("at first")

	version := k.secret().ResourceVersion
	k.patchSecret(`{"data": {"tls.crt": null}}`)
	second := k.settled(first, 1)
	k.works("with the next certificate")
	if now := k.secret().ResourceVersion; now == version {
		t.Error("nothing was written")
	}

	// A new authority is trusted beside the old one, and signs nothing yet.
	k.patchSecret(`{"data": {"ca.key": null}}`)
	if leaf := k.settled("", 2); leaf != second {
		t.Error("a leaf of an authority that nobody knew a moment ago")
	}
	k.works("with another authority")

	// The way out when a key was stolen. The server may not create the Secret.
	plane.Shell(t, "kubectl -n "+harness.Namespace+" delete secret "+keptSecret+" && kubectl apply -f "+plane.Manifest("base/serving-certificate.yaml"))
	k.settled(second, 1)
	k.comesBack("with nothing of before")

	version = k.secret().ResourceVersion
	plane.Shell(t, "kubectl apply -f "+plane.Manifest("base/serving-certificate.yaml"))
	if now := k.secret(); now.ResourceVersion != version && len(now.Data[servingcert.LeafCert]) == 0 {
		t.Error("applying the manifests again empties the Secret")
	}
}
