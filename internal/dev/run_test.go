package dev_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/dev"
	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// A second start goes on with the data, the account and the credentials of the
// first, at other ports too.
func TestASecondStartContinues(t *testing.T) {
	dir := t.TempDir()
	d := testdev.Start(t, testdev.Options{DataDir: dir})
	first := d.PDS
	made, err := d.Client.SocialwebV1alpha1().Infras().Create(t.Context(), &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"etcd", "PDS", "certificates", "API server", "AtprotoRepo default", "ready"} {
		if !strings.Contains(d.Out.String(), "\n"+step+" ") && !strings.HasPrefix(d.Out.String(), step+" ") {
			t.Errorf("no step %q in %s", step, d.Out)
		}
	}
	admin, err := os.ReadFile(filepath.Join(dir, "pki", "admin.crt"))
	if err != nil {
		t.Fatal(err)
	}
	d.Stop(t)

	d = testdev.Start(t, testdev.Options{DataDir: dir})
	if d.PDS.DID != first.DID || d.PDS.Handle != first.Handle {
		t.Errorf("account %+v, before %+v", d.PDS, first)
	}
	again, err := d.Client.SocialwebV1alpha1().Infras().Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if again.UID != made.UID {
		t.Errorf("uid %s, before %s", again.UID, made.UID)
	}
	if now, err := os.ReadFile(filepath.Join(dir, "pki", "admin.crt")); err != nil || !bytes.Equal(now, admin) {
		t.Errorf("the admin's certificate changed (%v)", err)
	}
	repo, err := d.Client.SocialwebV1alpha1().AtprotoRepos().Get(t.Context(), "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if repo.Spec.PDS != d.PDS.URL {
		t.Errorf("the AtprotoRepo is at %s, the PDS at %s", repo.Spec.PDS, d.PDS.URL)
	}
}

// Scripts find both sides by the files, which nobody else can read.
func TestFilesForScripts(t *testing.T) {
	dir := t.TempDir()
	d := testdev.Start(t, testdev.Options{DataDir: dir})
	b, err := os.ReadFile(filepath.Join(dir, "pds.json"))
	if err != nil {
		t.Fatal(err)
	}
	var info map[string]string
	if err := json.Unmarshal(b, &info); err != nil {
		t.Fatal(err)
	}
	if info["url"] != d.PDS.URL || info["did"] != d.PDS.DID || info["handle"] != d.PDS.Handle || !filepath.IsAbs(info["passwordFile"]) {
		t.Errorf("pds.json: %v", info)
	}
	secret := []string{
		"pds.json", "admin.kubeconfig", info["passwordFile"], "pki/ca.key", "pki/admin.key", "pki/server.key",
		"credentials/default/default/password", "credentials/default/default/pds",
	}
	for _, f := range secret {
		if !filepath.IsAbs(f) {
			f = filepath.Join(dir, f)
		}
		if st, err := os.Stat(f); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, st, err)
		}
	}
}

// Whatever keeps dev from starting is told in words that say what to do.
func TestRefusals(t *testing.T) {
	var lc net.ListenConfig
	taken, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // only its port counted
	port := taken.Addr().(*net.TCPAddr).Port
	pds := testpds.StartDev(t, testpds.Options{})
	wrong := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(wrong, []byte("not-the-password"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*dev.Options)
		want   []string
	}{
		"the API server's port is taken": {func(o *dev.Options) { o.Port = port }, []string{"--secure-port", "taken"}},
		"the PDS's port is taken":        {func(o *dev.Options) { o.PDSPort = port }, []string{"--pds-port", "taken"}},
		"no port":                        {func(o *dev.Options) { o.Port = 70000 }, []string{"--secure-port"}},
		"half a PDS":                     {func(o *dev.Options) { o.PDS = pds.URL }, []string{"--identifier", "--password-file"}},
		"no data directory":              {func(o *dev.Options) { o.DataDir = "" }, []string{"--data-dir"}},
		"no password file": {func(o *dev.Options) {
			o.PDS, o.Identifier, o.PasswordFile = pds.URL, "alice.test", filepath.Join(t.TempDir(), "none")
		}, []string{"--password-file"}},
		"a wrong password": {func(o *dev.Options) {
			o.PDS, o.Identifier, o.PasswordFile = pds.URL, pds.Accounts[0].DID, wrong
		}, []string{"log in", "not authorized", "--password-file"}},
		"a PDS that isn't there": {func(o *dev.Options) {
			o.PDS, o.Identifier, o.PasswordFile = "http://127.0.0.1:1", "alice.test", wrong
		}, []string{"127.0.0.1:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := dev.NewOptions()
			o.DataDir, o.Port, o.PDSPort, o.Out = t.TempDir(), 0, 0, io.Discard
			c.change(o)
			err := dev.Run(t.Context(), o)
			if err == nil {
				t.Fatal("it started")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "not-the-password") {
				t.Errorf("%q holds the password", err)
			}
		})
	}
	t.Run("two on one directory", func(t *testing.T) {
		dir := t.TempDir()
		testdev.Start(t, testdev.Options{DataDir: dir})
		o := dev.NewOptions()
		o.DataDir, o.Port, o.PDSPort, o.Out = dir, 0, 0, io.Discard
		if err := dev.Run(t.Context(), o); !errors.Is(err, dev.ErrLocked) {
			t.Errorf("the second: %v", err)
		}
	})
}

// A PDS of one's own serves as the embedded one does, and a start goes well while
// it is away, once its account is known.
func TestPDSOfOnesOwn(t *testing.T) {
	data := t.TempDir()
	pds := testpds.StartDev(t, testpds.Options{DataDir: t.TempDir()})
	d := testdev.Start(t, testdev.Options{DataDir: data, PDS: pds})
	infras := d.Client.SocialwebV1alpha1().Infras()
	made, err := infras.Create(t.Context(), &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d.PDS.DID != pds.Accounts[0].DID || made.Status.Record == nil {
		t.Errorf("account %s, record %v", d.PDS.DID, made.Status.Record)
	}
	for file, want := range map[string]string{"identifier": d.PDS.DID, "pds": pds.URL} {
		b, err := os.ReadFile(filepath.Join(data, "credentials", "default", "default", file))
		if err != nil || strings.TrimSpace(string(b)) != want {
			t.Errorf("%s: %q, %v", file, b, err)
		}
	}
	d.Stop(t)
	pds.Stop()

	d = testdev.Start(t, testdev.Options{DataDir: data, PDS: pds, PDSAway: true})
	if !strings.Contains(d.Out.String(), "is not ready yet (NotReachable)") {
		t.Errorf("the start says nothing of the PDS: %s", d.Out)
	}
	infras = d.Client.SocialwebV1alpha1().Infras()
	again, err := infras.Get(t.Context(), "a", metav1.GetOptions{ResourceVersion: "0"})
	if err != nil || again.UID != made.UID {
		t.Errorf("from the cache: %v, %v", again, err)
	}
	// Without the client's own retries, which a Retry-After asks for.
	raw := d.Client.SocialwebV1alpha1().RESTClient()
	if err := raw.Get().Resource("infras").Name("a").MaxRetries(0).Do(t.Context()).Error(); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a consistent read: %v", err)
	}
	body := []byte(`{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"b"}}`)
	if err := raw.Post().Resource("infras").Body(body).MaxRetries(0).Do(t.Context()).Error(); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a creation: %v", err)
	}
}
