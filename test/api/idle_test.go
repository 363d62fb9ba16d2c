package api

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// TestIdleWorkspaces: workspaces in which nothing happens add neither goroutines nor
// event streams to a server; what they need is shared.
func TestIdleWorkspaces(t *testing.T) {
	t.Parallel()
	const first, all = 2, 32
	var names []string
	for i := range all {
		names = append(names, fmt.Sprint("tenant", i))
	}
	accounts := embedded(t, names...)
	etcdEndpoint(t) // it isn't the server's
	var s *server
	// All goroutines of the server are begun by one that has the label, and inherit it.
	pprof.Do(t.Context(), pprof.Labels("server", t.Name()), func(context.Context) { s = newServer(t, accounts[0].pds.PLCURL) })
	var envs []*env
	open := func(i int) {
		e := &env{server: s.workspace(t, names[i]), account: accounts[i]}
		envs = append(envs, e)
		s.credential(t, names[i], repoName, accounts[i].DID, accounts[i].Password)
		if _, err := e.client.AtprotoRepos().Create(t.Context(), &v1alpha1.AtprotoRepo{
			ObjectMeta: metav1.ObjectMeta{Name: repoName},
			Spec:       v1alpha1.AtprotoRepoSpec{DID: accounts[i].DID, Default: true, CredentialsRef: &v1alpha1.CredentialsReference{Name: repoName}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	used := func(from int) {
		for _, e := range envs[from:] {
			e.awaitRepo(t, v1alpha1.ConditionReady, metav1.ConditionTrue)
			e.create(t, newInfra("a", "x"))
		}
		for _, e := range envs[from:] {
			waitFor(t, "the publisher", func() error { return e.publishedOnce(t.Context()) })
		}
	}
	for i := range first {
		open(i)
	}
	used(0)
	few, _, _ := goroutines(t)
	for i := first; i < all; i++ {
		open(i)
	}
	used(first)
	const more = 10 // what happens to be under way
	waitFor(t, "idleness", func() error {
		n, streams, stacks := goroutines(t)
		if n > few+more {
			return fmt.Errorf("%d goroutines with %d workspaces, %d with %d:\n%s", n, all, few, first, stacks)
		}
		if streams != 1 {
			return fmt.Errorf("%d event streams", streams)
		}
		return nil
	})
}

// publishedOnce says whether the publisher was at work on the workspace's object.
func (e *env) publishedOnce(ctx context.Context) error {
	i, err := e.cached(ctx, "a")
	if err == nil && (i.Status.Record == nil || i.Status.Record.Direction != "InSync") {
		err = fmt.Errorf("status.record %+v", i.Status.Record)
	}
	return err
}

// group is a number of goroutines with one stack and one set of labels, as a profile
// lists them.
var group = regexp.MustCompile(`(?m)^(\d+) @`)

// goroutines of the test's server, but for those of connections that carry requests:
// their number has a bound of its own. Each event stream has one.
func goroutines(t *testing.T) (n, streams int, stacks string) {
	t.Helper()
	var text bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		t.Fatal(err)
	}
	label := fmt.Sprintf(`"server":%q`, t.Name())
	var out strings.Builder
	for g := range strings.SplitSeq(text.String(), "\n\n") {
		if !strings.Contains(g, label) || strings.Contains(g, "http.(*persistConn)") || strings.Contains(g, "http.(*conn).serve") {
			continue
		}
		count := group.FindStringSubmatch(g)
		if count == nil {
			t.Fatalf("a profile of goroutines says %q", g)
		}
		i, err := strconv.Atoi(count[1])
		if err != nil {
			t.Fatal(err)
		}
		n += i
		if strings.Contains(g, "events.(*Firehose).Run+") {
			streams += i
		}
		out.WriteString(g + "\n\n")
	}
	if n == 0 {
		t.Fatal("no goroutine of the server has its label")
	}
	return n, streams, out.String()
}
