package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"socialweb.computer/infra-apiserver/internal/testbinary"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// binary is the command, built once.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(shared.dir, "infra-apiserver")
	cmd := exec.Command("go", "build", "-o", path, "../../cmd/infra-apiserver")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// devProcess is a running `infra-apiserver dev`.
type devProcess struct {
	*server
	cmd    *exec.Cmd
	stdout *testbinary.Buffer
	stderr *testbinary.Buffer
	read   chan struct{} // closed when its output has ended
}

// devCommand is the command, not yet started.
func devCommand(ctx context.Context, t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(ctx, bin, append([]string{"dev", "--data-dir", dir, "--secure-port", "0", "--pds-port", "0"}, args...)...)
}

// startDev starts dev and waits until it says that it is ready.
func startDev(t *testing.T, dir string, args ...string) *devProcess {
	t.Helper()
	p := &devProcess{cmd: devCommand(context.Background(), t, dir, args...), stdout: &testbinary.Buffer{}, stderr: &testbinary.Buffer{}, read: make(chan struct{})}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.end(syscall.SIGKILL)
		}
	})
	ready := make(chan struct{})
	go func() {
		defer close(p.read)
		lines, once := bufio.NewScanner(out), sync.Once{}
		for lines.Scan() {
			fmt.Fprintln(p.stdout, lines.Text())
			if strings.HasPrefix(lines.Text(), "ready ") {
				once.Do(func() { close(ready) })
			}
		}
	}()
	select {
	case <-ready:
	case <-p.read:
		t.Fatalf("dev ended: %s%s", p.stdout.Bytes(), p.stderr.Bytes())
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	p.server = &server{config: config, creds: t.TempDir()}
	if p.http, err = rest.HTTPClientFor(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.http.CloseIdleConnections)
	clients, err := versioned.NewForConfigAndClient(config, p.http)
	if err != nil {
		t.Fatal(err)
	}
	p.client = clients.SocialwebV1alpha1()
	return p
}

// end sends a signal and returns how the process ended.
func (p *devProcess) end(s os.Signal) *os.ProcessState {
	_ = p.cmd.Process.Signal(s)
	<-p.read
	_ = p.cmd.Wait() // the state says it
	return p.cmd.ProcessState
}

// devAccount is the account that pds.json names.
func devAccount(t *testing.T, dir string) *account {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "pds.json"))
	if err != nil {
		t.Fatal(err)
	}
	var info struct{ URL, DID, Handle, PasswordFile string }
	if err := json.Unmarshal(b, &info); err != nil {
		t.Fatal(err)
	}
	password, err := os.ReadFile(info.PasswordFile)
	if err != nil {
		t.Fatal(err)
	}
	a := &account{
		Account: testpds.Account{DID: info.DID, Handle: info.Handle, Password: strings.TrimSpace(string(password))},
		pds:     &testpds.Server{URL: info.URL},
	}
	keepSecret(a.Password)
	a.login(t)
	return a
}

// uids of all Infras.
func (s *server) uids(t *testing.T) map[string]types.UID {
	t.Helper()
	l, err := s.client.Infras().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]types.UID{}
	for _, i := range l.Items {
		out[i.Name] = i.UID
	}
	return out
}

// TestLifeOfDev: what the command writes is private; two can't share a directory;
// killed in the middle of writes it starts again with all that was acknowledged;
// one Ctrl-C ends it cleanly; and nothing secret is told.
func TestLifeOfDev(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := startDev(t, dir)
	a := devAccount(t, dir)
	p.create(t, newInfra("first", "x"))
	a.put(t, "second", infraRecord("x"))
	p.shows(t, a, "first", "second")
	privateFiles(t, dir)

	out, err := devCommand(t.Context(), t, dir).CombinedOutput()
	if err == nil || contains(string(out), dir, "--data-dir", fmt.Sprint(p.cmd.Process.Pid)) != nil {
		t.Errorf("a second process on one directory: %v %s", err, out)
	}
	p.shows(t, a, "first", "second")

	acknowledged := p.killedWhileWriting(t)
	if len(acknowledged) == 0 {
		t.Fatal("nothing was acknowledged before the kill")
	}
	p = startDev(t, dir)
	a = devAccount(t, dir)
	now := p.uids(t)
	for name, uid := range acknowledged {
		if now[name] != uid {
			t.Errorf("%s was acknowledged as %s and is %q", name, uid, now[name])
		}
	}
	e := &env{server: p.server, account: a}
	waitFor(t, "objects and records agree", func() error { return e.agree(t) })

	if state := p.end(os.Interrupt); state.ExitCode() != 0 {
		t.Errorf("Ctrl-C: %v: %s", state, p.stderr.Bytes())
	}
	again := startDev(t, dir)
	if uids := again.uids(t); len(uids) != len(now) || uids["first"] != now["first"] {
		t.Errorf("after a clean end: %v, before %v", uids, now)
	}
	if state := again.end(syscall.SIGTERM); state.ExitCode() != 0 {
		t.Errorf("SIGTERM: %v: %s", state, again.stderr.Bytes())
	}
	log, err := os.ReadFile(filepath.Join(dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{log, p.stdout.Bytes(), p.stderr.Bytes(), again.stdout.Bytes(), again.stderr.Bytes()} {
		if bytes.Contains(text, []byte(a.Password)) || bytes.Contains(text, []byte("Bearer ey")) {
			t.Errorf("a secret is told: %s", text)
		}
	}
}

func (p *devProcess) shows(t *testing.T, a *account, names ...string) {
	t.Helper()
	(&env{server: p.server, account: a}).shows(t, "dev", names...)
}

// privateFiles checks that nobody but this user can read what dev has written.
func privateFiles(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSocket != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // etcd's files come and go
		}
		// What lies in a directory that nobody else may enter is private too.
		top := filepath.Dir(path) == dir || path == dir
		if top && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// killedWhileWriting kills dev while objects are being created, and returns the
// uids of those that were acknowledged.
func (p *devProcess) killedWhileWriting(t *testing.T) map[string]types.UID {
	t.Helper()
	var (
		mu    sync.Mutex
		acked = map[string]types.UID{}
		wg    sync.WaitGroup
	)
	enough := make(chan struct{})
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				obj := newInfra(fmt.Sprintf("w%d-%d", w, i), "x")
				made, err := p.client.Infras().Create(t.Context(), obj, metav1.CreateOptions{})
				var status apierrors.APIStatus
				if errors.As(err, &status) {
					continue // not acknowledged
				} else if err != nil {
					return // it was killed
				}
				mu.Lock()
				if acked[made.Name] = made.UID; len(acked) == 40 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	p.end(syscall.SIGKILL)
	wg.Wait()
	return acked
}

// TestDevOnAPDSOfOnesOwn: dev serves an account of the reference PDS.
func TestDevOnAPDSOfOnesOwn(t *testing.T) {
	t.Parallel()
	a := onReference(t)
	a.put(t, "theirs", infraRecord("x"))
	dir := t.TempDir()
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte(a.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--pds", a.pds.URL, "--identifier", a.DID, "--password-file", password}
	data := filepath.Join(dir, "data")
	p := startDev(t, data, args...)
	p.create(t, newInfra("ours", "x"))
	if value, _ := a.get(t, "ours"); value["description"] != "x" {
		t.Errorf("record %v", value)
	}
	p.shows(t, a, "ours", "theirs")
	uids := p.uids(t)
	if state := p.end(os.Interrupt); state.ExitCode() != 0 {
		t.Errorf("Ctrl-C: %v: %s", state, p.stderr.Bytes())
	}
	again := startDev(t, data, args...)
	if got := again.uids(t); got["ours"] != uids["ours"] || got["theirs"] != uids["theirs"] {
		t.Errorf("%v, before %v", got, uids)
	}
}
