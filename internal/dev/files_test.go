package dev

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clock "k8s.io/utils/clock/testing"
)

// The same files serve until they are about to expire; then all is made anew
// and fits together.
func TestPKIIsKept(t *testing.T) {
	dir := t.TempDir()
	clk := clock.NewFakePassiveClock(time.Now())
	read := func(p PKI) string {
		var all []byte
		for _, f := range []string{p.CACert, p.ServerCert, p.ServerKey, p.AdminCert, p.AdminKey} {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			st, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			if st.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v", f, st.Mode())
			}
			all = append(all, b...)
		}
		for _, kp := range [][2]string{{p.ServerCert, p.ServerKey}, {p.AdminCert, p.AdminKey}} {
			if _, err := tls.LoadX509KeyPair(kp[0], kp[1]); err != nil {
				t.Error(err)
			}
		}
		return string(all)
	}
	ensure := func() PKI {
		p, err := EnsurePKI(dir, clk)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := ensure()
	first := read(p)
	if read(ensure()) != first {
		t.Error("a second start made new certificates")
	}

	if err := os.Remove(p.AdminKey); err != nil {
		t.Fatal(err)
	}
	second := read(ensure())
	if second == first {
		t.Error("a lost key was not made anew")
	}

	clk.SetTime(clk.Now().Add(certLifetime - certMargin/2))
	if read(ensure()) == second {
		t.Error("certificates about to expire were kept")
	}
}

func TestKubeconfigIsPrivateAndSelfContained(t *testing.T) {
	dir := t.TempDir()
	p, err := EnsurePKI(filepath.Join(dir, "pki"), clock.NewFakePassiveClock(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "admin.kubeconfig")
	if err := WriteKubeconfig(path, "https://127.0.0.1:7443", p); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
	c, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if c.Host != "https://127.0.0.1:7443" || len(c.CAData) == 0 || len(c.CertData) == 0 || len(c.KeyData) == 0 {
		t.Errorf("host %q, %d, %d and %d bytes of CA, certificate and key", c.Host, len(c.CAData), len(c.CertData), len(c.KeyData))
	}
}

func TestLockExcludes(t *testing.T) {
	dir := t.TempDir()
	l, err := AcquireLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = AcquireLock(dir)
	if !errors.Is(err, ErrLocked) {
		t.Fatalf("second lock: %v", err)
	}
	for _, want := range []string{dir, "--data-dir"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	l, err = AcquireLock(dir)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

func TestStepsPrintNameTimeAndResult(t *testing.T) {
	clk := clock.NewFakePassiveClock(time.Now())
	var out bytes.Buffer
	s := NewSteps(&out, clk)
	if err := s.Do(t.Context(), "etcd", func(context.Context) (string, error) {
		clk.SetTime(clk.Now().Add(1500 * time.Millisecond))
		return "at a socket", nil
	}); err != nil {
		t.Fatal(err)
	}
	s.Done("")
	for _, want := range []string{"etcd", "1500 ms", "at a socket", "ready"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q lacks %q", out.String(), want)
		}
	}
	boom := errors.New("boom")
	err := s.Do(t.Context(), "PDS", func(context.Context) (string, error) { return "", boom })
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "PDS") {
		t.Errorf("error %v", err)
	}
}
