package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

const collection = "computer.socialweb.infra"

// env is a reference PDS with our server in front of it.
type env struct {
	pds    *testpds.Server
	client versioned.Interface
	http   *http.Client
	token  string
	cmd    *exec.Cmd
	dir    string
	args   []string
}

var binary string

func cleanUp() {
	if binary != "" {
		_ = os.RemoveAll(filepath.Dir(binary))
	}
}

// build builds the server once.
func build(b *testing.B) {
	b.Helper()
	if binary == "" {
		dir, err := os.MkdirTemp("", "bench-") //nolint:usetesting // it serves all benchmarks; cleanUp removes it
		if err != nil {
			b.Fatal(err)
		}
		binary = filepath.Join(dir, "infra-apiserver")
		if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", binary, "../../cmd/infra-apiserver").CombinedOutput(); err != nil {
			b.Fatalf("build: %v\n%s", err, out)
		}
	}
}

// start builds the server once and runs it over a PDS of its own. prepare fills
// the repository first.
func start(b *testing.B, prepare func(*env), flags ...string) *env {
	b.Helper()
	build(b)
	e := &env{pds: testpds.StartReference(b, testpds.Options{}), http: &http.Client{Timeout: time.Minute}, dir: b.TempDir()}
	e.token = e.login(b)
	if prepare != nil {
		prepare(e)
	}
	password := filepath.Join(e.dir, "password")
	if err := os.WriteFile(password, []byte(e.pds.Accounts[0].Password), 0o600); err != nil {
		b.Fatal(err)
	}
	e.args = []string{"dev", "--data-dir", filepath.Join(e.dir, "data"), "--secure-port", "0", "--pds-port", "0",
		"--pds", e.pds.URL, "--identifier", e.pds.Accounts[0].DID, "--password-file", password, "--vmodule", "resync=2",
		"--controller=false"} // its statuses would be commits between those that are measured
	e.args = append(e.args, flags...)
	e.run(b)
	b.Cleanup(e.stop)
	return e
}

// run starts the server and waits until its repository is mounted and a
// consistent list is answered.
func (e *env) run(b *testing.B) {
	b.Helper()
	kubeconfig := filepath.Join(e.dir, "data", "admin.kubeconfig")
	_ = os.Remove(kubeconfig)
	e.cmd = exec.Command(binary, e.args...) // it outlives the call; stop ends it
	log, err := os.Create(filepath.Join(e.dir, "server.log"))
	if err != nil {
		b.Fatal(err)
	}
	e.cmd.Stdout, e.cmd.Stderr = log, log
	if err := e.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		if err = e.connect(kubeconfig); err == nil {
			if err = e.ready(b.Context()); err == nil {
				return
			}
		}
		if time.Now().After(deadline) {
			out, _ := os.ReadFile(log.Name())
			b.Fatalf("server not ready: %v\n%s", err, out)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (e *env) connect(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	e.client, err = versioned.NewForConfig(config)
	return err
}

func (e *env) ready(ctx context.Context) error {
	repo, err := e.client.SocialwebV1alpha1().AtprotoRepos().Get(ctx, "default", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(repo.Status.Conditions, v1alpha1.ConditionReady) {
		return errors.New("AtprotoRepo default is not ready")
	}
	return e.list(ctx)
}

func (e *env) stop() {
	_ = e.cmd.Process.Signal(syscall.SIGTERM)
	_ = e.cmd.Wait()
}

// xrpc calls the PDS as any client would.
func (e *env) xrpc(ctx context.Context, method, path string, body, out any) error {
	r := testhttp.Request{Method: method, Path: "/xrpc/" + path, Body: body}
	if body != nil && e.token != "" {
		r.Header = testhttp.Headers("Authorization: Bearer " + e.token)
	}
	a, err := testhttp.Client{HTTP: e.http, Server: e.pds.URL}.Do(ctx, r)
	if err == nil {
		err = a.Want(http.StatusOK)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(a.Body, out)
}

// export downloads an account's repository, as anybody could.
func (e *env) export(ctx context.Context, did string) error {
	resp, err := testhttp.Client{HTTP: e.http, Server: e.pds.URL}.Open(ctx, testhttp.Request{Path: "/xrpc/com.atproto.sync.getRepo?did=" + did})
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func (e *env) login(b *testing.B) string {
	b.Helper()
	var out struct{ AccessJwt string }
	a := e.pds.Accounts[0]
	if err := e.xrpc(b.Context(), http.MethodPost, "com.atproto.server.createSession",
		map[string]string{"identifier": a.DID, "password": a.Password}, &out); err != nil {
		b.Fatal(err)
	}
	return out.AccessJwt
}

func (e *env) did() string { return e.pds.Accounts[0].DID }

// put is a raw putRecord; swap "" creates.
func (e *env) put(ctx context.Context, rkey, description, swap string) (cid string, err error) {
	in := map[string]any{"repo": e.did(), "collection": collection, "rkey": rkey, "record": record(description), "swapRecord": nil}
	if swap != "" {
		in["swapRecord"] = swap
	}
	var out struct{ CID string }
	err = e.xrpc(ctx, http.MethodPost, "com.atproto.repo.putRecord", in, &out)
	return out.CID, err
}

func record(description string) map[string]any {
	return map[string]any{
		"$type": collection, "description": description, "createdAt": "2026-01-01T00:00:00Z",
		"contracts": []any{map[string]any{"name": "web", "state": "staged", "vmName": "web", "policy": "cheapest"}},
	}
}

// fill puts n records by applyWrites, 200 at a time.
func (e *env) fill(b *testing.B, n int) {
	b.Helper()
	for i := 0; i < n; {
		var writes []any
		for ; len(writes) < 200 && i < n; i++ {
			writes = append(writes, map[string]any{
				"$type": "com.atproto.repo.applyWrites#create", "collection": collection,
				"rkey": fmt.Sprintf("r%05d", i), "value": record(fmt.Sprintf("record %d", i)),
			})
		}
		if err := e.xrpc(b.Context(), http.MethodPost, "com.atproto.repo.applyWrites",
			map[string]any{"repo": e.did(), "writes": writes}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
