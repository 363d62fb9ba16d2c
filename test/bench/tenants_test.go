package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"socialweb.computer/infra-apiserver/internal/credentials"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// infrasEach is how many records each workspace's account has.
const infrasEach = 10

// tenants are workspaces, each with an account and credentials of its own, on one
// PDS and one server.
type tenants struct {
	*env
	pds     *countedPDS
	config  *rest.Config
	clients []versioned.Interface
	tokens  []string
}

// startTenants makes n workspaces' accounts and credentials, and a server that has no
// AtprotoRepo of theirs yet.
func startTenants(b *testing.B, n int) *tenants {
	b.Helper()
	build(b)
	names := []string{"default"}
	for i := range n {
		names = append(names, workspaceName(i))
	}
	p := startCounted(b, names)
	e := &env{pds: p.Server, http: &http.Client{Timeout: time.Minute}, dir: b.TempDir()}
	t := &tenants{env: e, pds: p, tokens: make([]string, n)}
	t.each(b, 0, n, func(ctx context.Context, i int) error { return t.prepare(ctx, i) })
	password := filepath.Join(e.dir, "password")
	if err := os.WriteFile(password, []byte(p.Accounts[0].Password), 0o600); err != nil {
		b.Fatal(err)
	}
	e.args = []string{"dev", "--data-dir", t.data(), "--secure-port", "0", "--workspaces", "--controller=false",
		"--pds", p.counted, "--plc-url", p.PLCURL, "--identifier", p.Accounts[0].DID, "--password-file", password}
	t.run(b)
	b.Cleanup(func() {
		e.stop()
		if log, err := os.ReadFile(filepath.Join(e.dir, "server.log")); err == nil && b.Failed() {
			b.Logf("the server said:\n%s", log[max(0, len(log)-10000):])
		}
	})
	return t
}

func workspaceName(i int) string { return fmt.Sprintf("w%04d", i) }

func (t *tenants) data() string { return filepath.Join(t.dir, "data") }

func (t *tenants) account(i int) testpds.Account { return t.pds.Accounts[i+1] }

// prepare fills the account of a workspace, and leaves its credentials for the server.
func (t *tenants) prepare(ctx context.Context, i int) error {
	a := t.account(i)
	var session struct{ AccessJwt string }
	if err := t.as(ctx, "", "com.atproto.server.createSession", map[string]string{"identifier": a.DID, "password": a.Password}, &session); err != nil {
		return err
	}
	t.tokens[i] = session.AccessJwt
	var writes []any
	for r := range infrasEach {
		writes = append(writes, map[string]any{
			"$type": "com.atproto.repo.applyWrites#create", "collection": collection, "rkey": recordName(r), "value": record(recordName(r)),
		})
	}
	if err := t.as(ctx, t.tokens[i], "com.atproto.repo.applyWrites", map[string]any{"repo": a.DID, "writes": writes}, nil); err != nil {
		return err
	}
	dir := filepath.Join(t.data(), "credentials", workspaceName(i), "repo")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, credentials.IdentifierKey), []byte(a.DID), 0o600),
		os.WriteFile(filepath.Join(dir, credentials.PasswordKey), []byte(a.Password), 0o600))
}

func recordName(i int) string { return fmt.Sprintf("infra-%d", i) }

// as calls a procedure of the PDS by a session.
func (t *tenants) as(ctx context.Context, token, method string, body, out any) error {
	e := *t.env
	e.token = token
	return e.xrpc(ctx, http.MethodPost, method, body, out)
}

// run starts the server, and makes clients of the workspaces.
func (t *tenants) run(b *testing.B) {
	b.Helper()
	t.env.run(b)
	var err error
	if t.config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(t.data(), "admin.kubeconfig")); err != nil {
		b.Fatal(err)
	}
	t.config.QPS = -1
	shared, err := rest.HTTPClientFor(t.config)
	if err != nil {
		b.Fatal(err)
	}
	t.clients = nil
	for i := range t.tokens {
		t.clients = append(t.clients, t.client(b, shared, workspaceName(i)))
	}
}

func (t *tenants) client(b *testing.B, shared *http.Client, ws string) versioned.Interface {
	b.Helper()
	config := rest.CopyConfig(t.config)
	config.Host += "/clusters/" + ws
	out, err := versioned.NewForConfigAndClient(config, shared)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// each calls f for workspaces, eight at once.
func (t *tenants) each(b *testing.B, from, to int, f func(ctx context.Context, i int) error) {
	b.Helper()
	g, ctx := errgroup.WithContext(b.Context())
	g.SetLimit(8)
	for i := from; i < to; i++ {
		g.Go(func() error { return f(ctx, i) })
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}

// open makes the AtprotoRepo of a workspace, and returns how long it took until a
// consistent list was answered with all its records.
func (t *tenants) open(ctx context.Context, i int) (time.Duration, error) {
	begin := time.Now()
	if _, err := t.clients[i].SocialwebV1alpha1().AtprotoRepos().Create(ctx, &v1alpha1.AtprotoRepo{
		ObjectMeta: metav1.ObjectMeta{Name: "repo"},
		Spec: v1alpha1.AtprotoRepoSpec{
			DID: t.account(i).DID, Default: true, CredentialsRef: &v1alpha1.CredentialsReference{Name: "repo"},
		},
	}, metav1.CreateOptions{}); err != nil {
		return 0, err
	}
	err := t.listed(ctx, i)
	return time.Since(begin), err
}

// listed returns when a consistent list of the workspace shows all records.
func (t *tenants) listed(ctx context.Context, i int) error {
	for begin := time.Now(); ; {
		list, err := t.clients[i].SocialwebV1alpha1().Infras().List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) >= infrasEach {
			return nil
		}
		if time.Since(begin) > 2*time.Minute {
			return fmt.Errorf("workspace %d isn't served: %d infras, error %v", i, len(list.Items), err) //nolint:errorlint // it may be nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// settle returns when n workspaces' AtprotoRepos are ready and nothing is asked of the
// PDS any more but what an idle server asks.
func (t *tenants) settle(b *testing.B, n int) {
	b.Helper()
	all, err := versioned.NewForConfig(func() *rest.Config {
		c := rest.CopyConfig(t.config)
		c.Host += "/clusters/*"
		return c
	}())
	if err != nil {
		b.Fatal(err)
	}
	for ready := 0; ready <= n; { // and the default workspace's
		time.Sleep(200 * time.Millisecond)
		list, err := all.SocialwebV1alpha1().AtprotoRepos().List(b.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			b.Fatal(err)
		}
		ready = 0
		for i := range list.Items {
			if meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, v1alpha1.ConditionReady) {
				ready++
			}
		}
	}
	time.Sleep(idleConns)
}

// idleConns is longer than the server keeps connections that nobody uses.
const idleConns = 50 * time.Second

// footprint of the server.
type footprint struct {
	live, resident, goroutines float64
	conns, streams             int64
}

// footprint after a collection of the garbage.
func (t *tenants) footprint(b *testing.B, name string) (f footprint) {
	b.Helper()
	profile := t.get(b, "/debug/pprof/heap?gc=1")
	if *profiles != "" {
		for kind, data := range map[string][]byte{"heap": profile, "goroutine": t.get(b, "/debug/pprof/goroutine?debug=1")} {
			if err := os.WriteFile(filepath.Join(*profiles, name+"."+kind), data, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	metrics := string(t.get(b, "/metrics"))
	f.live = sample(metrics, "go_memstats_heap_alloc_bytes") + sample(metrics, "go_memstats_stack_inuse_bytes")
	f.goroutines = sample(metrics, "go_goroutines")
	f.resident = float64(t.rss(b))
	f.conns, f.streams = t.pds.conns.Load(), t.pds.streams.Load()
	return f
}

// profile keeps a profile of what the server's CPU does for a while, if it is wanted.
// wait returns when it is there.
func (t *tenants) profile(b *testing.B, name string, during time.Duration) (wait func()) {
	b.Helper()
	if *profiles == "" {
		return func() {}
	}
	done := make(chan error, 1)
	go func() {
		data, err := t.env.client.SocialwebV1alpha1().RESTClient().Get().
			RequestURI(fmt.Sprintf("/debug/pprof/profile?seconds=%d", int(during.Seconds()))).Do(b.Context()).Raw()
		if err == nil {
			err = os.WriteFile(filepath.Join(*profiles, name+".cpu"), data, 0o600)
		}
		done <- err
	}()
	return func() {
		if err := <-done; err != nil {
			b.Log(err)
		}
	}
}

func (t *tenants) get(b *testing.B, path string) []byte {
	b.Helper()
	data, err := t.env.client.SocialwebV1alpha1().RESTClient().Get().RequestURI(path).Do(b.Context()).Raw()
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func sample(metrics, name string) float64 {
	_, rest, _ := strings.Cut(metrics, "\n"+name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	f, _ := strconv.ParseFloat(value, 64)
	return f
}

// idle is the share of a core that the server takes, and how many requests a second it
// sends to the PDS, while nobody wants anything.
func (t *tenants) idle(b *testing.B) (cpu, requests float64) {
	b.Helper()
	const during = 20 * time.Second
	spent, sent := t.cpu(b), t.pds.requests.Load()
	time.Sleep(during)
	return (t.cpu(b) - spent) / during.Seconds(), float64(t.pds.requests.Load()-sent) / during.Seconds()
}

// cpu that the server has used, in seconds.
func (t *tenants) cpu(b *testing.B) float64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	const user, system, ticks = 11, 12, 100 // USER_HZ
	var sum float64
	for _, i := range []int{user, system} {
		n, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += n
	}
	return sum / ticks
}

// jsonSize of the workspace's infras, as a list has them.
func (t *tenants) jsonSize(b *testing.B, i int) int {
	b.Helper()
	list, err := t.clients[i].SocialwebV1alpha1().Infras().List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	data, err := json.Marshal(list.Items)
	if err != nil {
		b.Fatal(err)
	}
	return len(data)
}

// exports downloads every account's repository, eight at once, as anybody could.
func (t *tenants) exports(b *testing.B) time.Duration {
	b.Helper()
	begin := time.Now()
	t.each(b, 0, len(t.tokens), func(ctx context.Context, i int) error { return t.export(ctx, t.account(i).DID) })
	return time.Since(begin)
}
