package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// refusal is a command line that is refused before anything starts.
type refusal struct {
	args []string
	want []string // the flag, the value, and what to do
}

// refused runs a command line and returns what it is refused with.
func refused(t *testing.T, args []string) string {
	t.Helper()
	root := newRoot(t.Context())
	root.SetArgs(args)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	err := root.ExecuteContext(t.Context())
	if err == nil {
		t.Fatalf("%v: it ran", args)
	}
	return err.Error()
}

func (r refusal) check(t *testing.T) {
	t.Helper()
	message := refused(t, r.args)
	for _, want := range r.want {
		if !strings.Contains(message, want) {
			t.Errorf("%v: %q lacks %q", r.args, message, want)
		}
	}
	if strings.Contains(message, "hunter2") {
		t.Errorf("%v: %q repeats a password", r.args, message)
	}
}

// file makes one in dir.
func file(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// taken is a port that somebody listens on.
func taken(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// Every wrong flag of serve is told by its name, its value and what to do.
func TestRefusalsOfServe(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	dir := t.TempDir()
	some, none, port := file(t, dir, "some", "x"), filepath.Join(dir, "none"), taken(t)
	right := []string{"serve", "--etcd-servers=http://127.0.0.1:1", "--kubeconfig=" + some}
	with := func(flags ...string) []string { return append(right[:len(right):len(right)], flags...) }
	for _, r := range []refusal{
		{[]string{"serve", "--kubeconfig=" + some}, []string{"--etcd-servers must be specified"}},
		{[]string{"serve", "--kubeconfig=" + some, "--etcd-servers=127.0.0.1:2379"}, []string{"--etcd-servers", `"127.0.0.1:2379"`, "write it like https://"}},
		{[]string{"serve", "--etcd-servers=http://127.0.0.1:1"}, []string{"--kubeconfig is empty", "name the kubeconfig"}},
		{[]string{"preflight"}, []string{"--kubeconfig is empty", "name the kubeconfig"}},
		{with("--kubeconfig=" + none), []string{"--kubeconfig", none, "no such file", "can be read"}},
		{with("--authentication-kubeconfig=" + none), []string{"--authentication-kubeconfig", none, "no such file"}},
		{with("--authorization-kubeconfig=" + dir), []string{"--authorization-kubeconfig", dir, "is a directory"}},
		{with("--client-ca-file=" + none), []string{"--client-ca-file", none, "no such file"}},
		{with("--requestheader-client-ca-file=" + none), []string{"--requestheader-client-ca-file", none, "no such file"}},
		{with("--tls-cert-file=" + some), []string{"--tls-cert-file", some, "needs --tls-private-key-file", "both, or neither"}},
		{with("--tls-private-key-file=" + some), []string{"--tls-private-key-file", "needs --tls-cert-file"}},
		{with("--tls-cert-file="+none, "--tls-private-key-file="+some), []string{"--tls-cert-file", none, "no such file"}},
		{with("--etcd-certfile=" + some), []string{"--etcd-certfile", "needs --etcd-keyfile"}},
		{with("--etcd-cafile=" + none), []string{"--etcd-cafile", none, "no such file"}},
		{with("--etcd-prefix=registry"), []string{"--etcd-prefix", `"registry"`, "begin with '/'"}},
		{with("--encryption-provider-config=" + none), []string{"--encryption-provider-config", none, "no such file"}},
		{with("--audit-policy-file=" + none), []string{"--audit-policy-file", none, "no such file"}},
		{with("--tracing-config-file=" + none), []string{"tracing-config-file", none, "does not exist"}},
		{with("--secure-port=70000"), []string{"--secure-port", "70000", "between 1 and 65535"}},
		{with("--secure-port=https"), []string{"--secure-port", "https"}},
		{with("--bind-address=127.0.0.1", "--secure-port="+port), []string{"--secure-port " + port, "taken", "choose another"}},
		{with("--bind-address=192.0.2.1"), []string{"--bind-address 192.0.2.1", "no address of this machine", "0.0.0.0"}},
		{with("--bind-address=here"), []string{"--bind-address", "here"}},
		{with("--credentials-dir=" + none), []string{"--credentials-dir", none, "no such file", "create it"}},
		{with("--credentials-dir=" + some), []string{"--credentials-dir", some, "is not a directory"}},
		{with("--credentials-dir="+dir, "--credentials-namespace=ns"), []string{"--credentials-dir", dir, "--credentials-namespace", "ns", "exclude each other"}},
		{with("--credentials-namespace=a_b"), []string{"--credentials-namespace", `"a_b"`, "write it like"}},
		{with("--credentials-kcp-namespace=ns"), []string{"--credentials-kcp-namespace", "ns", "needs --kcp-kubeconfig"}},
		{with("--kcp-kubeconfig=" + none), []string{"--kcp-kubeconfig", none, "no such file"}},
		{with("--kcp-kubeconfig="+some, "--kcp-export=A"), []string{"--kcp-export", `"A"`, "write it like"}},
		{with("--credentials-kcp-namespace=a_b", "--kcp-kubeconfig="+none), []string{"--credentials-kcp-namespace", `"a_b"`, "write it like", "--kcp-kubeconfig", none, "no such file"}},
		{with("--credentials-kcp-namespace=ns", "--kcp-kubeconfig="+some), []string{"--kcp-kubeconfig", some}},
		{with("--credentials-kcp-namespace=ns", "--kcp-kubeconfig="+some, "--kcp-export=A"), []string{"--kcp-export", `"A"`, "write it like"}},
		{with("--plc-url=plc.directory"), []string{"--plc-url", `"plc.directory"`, "write it like https://"}},
		{with("--plc-url=https://u:hunter2@plc.directory"), []string{"--plc-url", "plc.directory", "scheme and host alone"}},
		{with("--jetstream-url=wss://jet.example/subscribe"), []string{"--jetstream-url", "/subscribe", "scheme and host alone"}},
		{with("--jetstream-url=ftp://jet.example"), []string{"--jetstream-url", "ftp://jet.example", "wss"}},
		{with("--poll-interval=-5s"), []string{"--poll-interval", "-5s", "must not be negative"}},
		{with("--poll-interval=5"), []string{"--poll-interval", `"5"`}},
		{with("--pds-request-rate=-1"), []string{"--pds-request-rate", "-1", "not negative", "0 for as many"}},
		{with("--pds-request-rate=NaN"), []string{"--pds-request-rate", "NaN"}},
		{with("--pds-look-rate=-0.5"), []string{"--pds-look-rate", "-0.5", "0 for never"}},
		{with("--no-such-flag"), []string{"--no-such-flag"}},
		{with("--credentials-dir="+none, "--poll-interval=-5s"), []string{"--credentials-dir", "--poll-interval"}}, // all at once
	} {
		r.check(t)
	}
}

// The same of dev, which leaves nothing behind but its directory.
func TestRefusalsOfDev(t *testing.T) {
	files := t.TempDir()
	some, empty, none, port := file(t, files, "some", "hunter2"), file(t, files, "empty", " \n"), filepath.Join(files, "none"), taken(t)
	data := filepath.Join(t.TempDir(), "data")
	with := func(flags ...string) []string {
		return append([]string{"dev", "--data-dir=" + data, "--secure-port=0", "--pds-port=0"}, flags...)
	}
	pds := func(url, identifier, password string, more ...string) []string {
		return with(append([]string{"--pds=" + url, "--identifier=" + identifier, "--password-file=" + password}, more...)...)
	}
	const url, did = "https://pds.example", "did:plc:ewvi7nxzyoun6zhxrhs64oiz"
	for _, r := range []refusal{
		{with("--secure-port=70000"), []string{"--secure-port 70000", "is not a port", "0 for any free one"}},
		{with("--pds-port=-1"), []string{"--pds-port -1", "is not a port"}},
		{with("--secure-port=7777", "--pds-port=7777"), []string{"--secure-port and --pds-port", "7777", "choose another"}},
		{with("--secure-port=" + port), []string{"--secure-port " + port, "taken", "choose another"}},
		{with("--pds-port=" + port), []string{"--pds-port " + port, "taken", "choose another"}},
		{with("--data-dir="), []string{"--data-dir", "must not be empty"}},
		{with("--data-dir=" + some), []string{"--data-dir", some, "not a directory", "can write"}},
		{with("--data-dir=/proc/infra"), []string{"--data-dir", "/proc/infra", "can write"}},
		{with("--plc-url=https://plc.example"), []string{"--plc-url", "https://plc.example", "--pds"}},
		{with("--pds=" + url), []string{"--identifier is missing", "--password-file is missing"}},
		{with("--identifier=" + did), []string{"--pds is missing", "--password-file is missing"}},
		{pds("pds.example", did, some), []string{"--pds", `"pds.example"`, "write it like https://"}},
		{pds("https://u:hunter2@pds.example", did, some), []string{"--pds", "pds.example"}},
		{pds(url+"/xrpc", did, some), []string{"--pds", "/xrpc", "base URL"}},
		{pds(url, "@alice.example", some), []string{"--identifier", `"@alice.example"`, "without '@'"}},
		{pds(url, did, none), []string{"--password-file", none, "no such file", "can be read"}},
		{pds(url, did, files), []string{"--password-file", files, "is a directory"}},
		{pds(url, did, empty), []string{"--password-file", empty, "is empty"}},
		{pds(url, did, some, "--pds-port=2583"), []string{"--pds-port 2583", "--pds replaces"}}, // the default's value, but said
		{pds(url, did, some, "--pds-port=2600"), []string{"--pds-port 2600", "--pds replaces", "leave one of them out"}},
		{pds(url, did, some, "--plc-url=plc"), []string{"--plc-url", `"plc"`, "base URL"}},
	} {
		r.check(t)
	}
	if left, err := filepath.Glob(filepath.Join(data, "*")); err != nil || strings.Contains(strings.Join(left, " "), "etcd") {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
