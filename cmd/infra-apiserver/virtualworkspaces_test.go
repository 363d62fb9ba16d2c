package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"socialweb.computer/infra-apiserver/internal/certpair"
	"socialweb.computer/infra-apiserver/internal/dev"
	"socialweb.computer/infra-apiserver/internal/testbinary"
	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/internal/testwait"
)

// kcpStand is what a kcp has of the API that a server asks its host cluster for: reviews
// and namespaces, and nothing of kube-system, flowcontrol or admissionregistration.
func kcpStand(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := func(code int, o apiruntime.Object) {
		w.WriteHeader(code)
		_ = scheme.Codecs.LegacyCodec(authorizationv1.SchemeGroupVersion, authenticationv1.SchemeGroupVersion, metav1.SchemeGroupVersion).Encode(o, w)
	}
	if r.URL.Path == "/api/v1/namespaces" && r.URL.Query().Get("sendInitialEvents") == "true" {
		_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{"kind":"Namespace","apiVersion":"v1","metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		answer(http.StatusNotFound, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
		return
	}
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil) // protobuf, mostly
	if err != nil {
		answer(http.StatusBadRequest, &metav1.Status{Status: metav1.StatusFailure, Message: err.Error(), Code: http.StatusBadRequest})
		return
	}
	switch o := o.(type) {
	case *authorizationv1.SelfSubjectAccessReview:
		o.Status.Allowed = true
	case *authorizationv1.SubjectAccessReview:
		o.Status.Allowed = true
	case *authenticationv1.SelfSubjectReview:
		o.Status.UserInfo.Username = "infra-virtual-workspace"
	}
	answer(http.StatusCreated, o)
}

// pki is a directory with what kcp's operator mounts.
type pki struct {
	dir string
	cas map[string]*certpair.Pair
}

// sign writes name.crt and name.key; ca "" makes an authority.
func (p pki) sign(t *testing.T, name, ca string, template x509.Certificate) *certpair.Pair {
	t.Helper()
	if ca == "" {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	} else {
		template.KeyUsage = x509.KeyUsageDigitalSignature
	}
	pair, err := certpair.Sign(p.cas[ca], time.Now().Add(-time.Hour), time.Now().Add(time.Hour), template)
	if err != nil {
		t.Fatal(err)
	}
	p.cas[name] = pair
	crt, key, err := pair.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file(t, p.dir, name+".crt", string(crt))
	file(t, p.dir, name+".key", string(key))
	return pair
}

func newPKI(t *testing.T) pki {
	t.Helper()
	p := pki{t.TempDir(), map[string]*certpair.Pair{}}
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for _, ca := range []string{"client-ca", "requestheader-client-ca", "server-ca"} {
		p.sign(t, ca, "", x509.Certificate{Subject: pkix.Name{CommonName: ca}})
	}
	p.sign(t, "server", "server-ca", x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{loopback()}})
	p.sign(t, "vw", "client-ca", x509.Certificate{Subject: pkix.Name{CommonName: "infra-virtual-workspace", Organization: []string{"system:masters"}}, ExtKeyUsage: client})
	// The operator's shards are named so, by the authority of all clients.
	p.sign(t, "shard", "client-ca", x509.Certificate{Subject: pkix.Name{CommonName: "shard-theseus", Organization: []string{"system:masters"}}, ExtKeyUsage: client})
	return p
}

// kubeconfig leads to kcp, with the VirtualWorkspace's own certificate.
func (p pki) kubeconfig(t *testing.T, kcp *httptest.Server) string {
	t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["logical-cluster:admin"] = &clientcmdapi.Cluster{Server: kcp.URL, CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: kcp.Certificate().Raw})}
	c.AuthInfos["logical-cluster-admin"] = &clientcmdapi.AuthInfo{ClientCertificate: filepath.Join(p.dir, "vw.crt"), ClientKey: filepath.Join(p.dir, "vw.key")}
	c.Contexts["logical-cluster"] = &clientcmdapi.Context{Cluster: "logical-cluster:admin", AuthInfo: "logical-cluster-admin"}
	c.CurrentContext = "logical-cluster"
	path := filepath.Join(p.dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func (p pki) client(name string) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(p.cas["server-ca"].Cert)
	c := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}
	if name != "" {
		c.Certificates = []tls.Certificate{{Certificate: [][]byte{p.cas[name].Cert.Raw}, PrivateKey: p.cas[name].Key}}
	}
	return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: c}}
}

// loopback is an address of this process alone, where that is to be had: nobody else takes
// a port of it between two who use it.
func loopback() net.IP {
	if runtime.GOOS != "linux" {
		return net.IPv4(127, 0, 0, 1)
	}
	return net.IPv4(127, 91, byte(os.Getpid()>>8), byte(os.Getpid()))
}

// ownAddress has a free port.
func ownAddress(ctx context.Context, t *testing.T) *net.TCPAddr {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp4", net.JoinHostPort(loopback().String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().(*net.TCPAddr)
}

// TestVirtualWorkspace: the program serves as kcp's operator starts it, before a kcp
// that has little of what a cluster has; its shards are let in, and nobody is a master.
func TestVirtualWorkspace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	etcd, err := dev.StartEtcd(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close() //nolint:errcheck // it was for one test
	kcp := httptest.NewTLSServer(http.HandlerFunc(kcpStand))
	defer kcp.Close()
	p := newPKI(t)
	in := func(name string) string { return filepath.Join(p.dir, name) }
	address := ownAddress(ctx, t)
	cmd := command(ctx,
		"--client-ca-file="+in("client-ca.crt"), "--tls-private-key-file="+in("server.key"), "--tls-cert-file="+in("server.crt"),
		"--bind-address="+address.IP.String(), fmt.Sprintf("--secure-port=%d", address.Port),
		"--requestheader-client-ca-file="+in("requestheader-client-ca.crt"), "--requestheader-allowed-names=kcp-front-proxy,kcp-root-shard-proxy",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--kubeconfig="+p.kubeconfig(t, kcp), "--shard-external-url=https://127.0.0.1:6443", "--cache-kubeconfig=/etc/cache-server/kubeconfig/kubeconfig", "-v=1",
		// spec.extraArgs
		"--etcd-servers="+etcd.Endpoint(), "--kcp-shard-client-ca-file="+in("client-ca.crt"), "--kcp-shard-allowed-names=shard-*", "--shutdown-delay-duration=0")
	cmd.Args[0] = "/" + virtualWorkspaces
	var out testbinary.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
		if t.Failed() {
			t.Log(out.String())
		}
	}()
	url := "https://" + address.String()
	const infras = "/services/infra/clusters/1ysd3pfbxcq9zg2m/apis/socialweb.computer/v1alpha1/infras"
	shard := p.client("shard")
	defer shard.CloseIdleConnections()
	created := eventually(ctx, t, shard, http.MethodPost, url+infras, `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"a"},"spec":{"contracts":[{"name":"web"}]}}`, http.StatusCreated)
	if !strings.Contains(created, `"kcp.io/cluster":"1ysd3pfbxcq9zg2m"`) {
		t.Errorf("created %s", created)
	}
	for path, want := range map[string]int{infras + "/a": 200, "/apis/socialweb.computer/v1alpha1/infras": 403} {
		if code, text := ask(ctx, t, shard, http.MethodGet, url+path, ""); code != want {
			t.Errorf("a shard, %s: %d %s", path, code, text)
		}
	}
	for who, want := range map[string]int{"vw": 403, "": 401} {
		c := p.client(who)
		if code, text := ask(ctx, t, c, http.MethodGet, url+infras, ""); code != want {
			t.Errorf("%q: %d %s", who, code, text)
		}
		c.CloseIdleConnections()
	}
	anybody := p.client("")
	defer anybody.CloseIdleConnections()
	eventually(ctx, t, anybody, http.MethodGet, url+"/readyz", "", http.StatusOK)
	testwait.Until(t, "the flags that are ignored", func() error {
		if said := out.String(); !strings.Contains(said, "Ignored flags") || !strings.Contains(said, "cache-kubeconfig") {
			return errors.New("it says nothing of them")
		}
		return nil
	})
	if n := strings.Count(out.String(), "Ignored flags"); n != 1 {
		t.Errorf("%d lines about ignored flags", n)
	}
}

// eventually asks until the answer has this code.
func eventually(ctx context.Context, t *testing.T, c *http.Client, method, url, body string, want int) (text string) {
	t.Helper()
	testwait.Until(t, method+" "+url, func() error {
		var code int
		if code, text = ask(ctx, t, c, method, url, body); code != want {
			return fmt.Errorf("%d %s", code, text)
		}
		return nil
	})
	return text
}

// ask returns the answer; code 0: there was none.
func ask(ctx context.Context, t *testing.T, c *http.Client, method, url, body string) (code int, text string) {
	t.Helper()
	a, err := testhttp.Client{HTTP: c, Server: url}.Do(ctx, testhttp.Request{Method: method, Body: body})
	if err != nil {
		return 0, err.Error()
	}
	return a.Status, string(a.Body)
}

// By its other name the program has flags that it hides, and by its own it hasn't.
func TestFlagsOfKCPsOperator(t *testing.T) {
	for started, want := range map[string]bool{"/virtual-workspaces": true, "virtual-workspaces": true, "/infra-apiserver": false, "/virtual-workspaces/infra-apiserver": false} {
		cmd := newCommand(t.Context(), started)
		f := cmd.Flags().Lookup("shard-external-url")
		if (f != nil && f.Hidden && cmd.Flags().Lookup("etcd-servers") != nil) != want || cmd.HasSubCommands() == want {
			t.Errorf("%s: %v, %v", started, f, cmd.Commands())
		}
	}
	if f := newServe().Flags().Lookup("shard-external-url"); f != nil {
		t.Error("serve has it")
	}
}
