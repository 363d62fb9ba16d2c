package bench

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/bench/measure"
)

// The deployments of the two sizes that are compared, and the contracts of each.
const (
	fewDeployments, manyDeployments = 500, 2000
	contractsEach                   = 3
)

// deployments are the rows of their own section.
var deployments []measure.Row

// BenchmarkDeployments measures the controller: records that request contracts, put
// at once by another client, until a fulfiller holds every contract, every deployment
// is Deployed and its record says so. What one contract costs must not depend on how
// many there are.
func BenchmarkDeployments(b *testing.B) {
	few, all := converge(b, fewDeployments), converge(b, manyDeployments)
	row := func(what, goal, where string, of func(*converged) float64, show func(float64) string) {
		ours, theirs := of(all), of(few)
		r := measure.Row{
			What: what, Ours: show(ours), Theirs: fmt.Sprintf("of %d deployments: %s", fewDeployments, show(theirs)),
			Ratio: ours / theirs, Goal: goal, Where: where,
		}
		deployments = append(deployments, r)
		r.Log(b)
	}
	each := func(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }
	seconds := func(d time.Duration) float64 { return d.Seconds() }
	took := func(s float64) string { return each(time.Duration(s * float64(time.Second))) }
	plain := func(f float64) string { return fmt.Sprintf("%.2f", f) }
	n := float64(contractsEach)
	row("Time until all are Deployed, a contract", "≤ 1.25", fmt.Sprintf("in all %s for %d contracts: requests, the fulfiller's two status writes and the controller's on the same two cores; the PDS takes the statuses meanwhile", all.deployed.Round(100*time.Millisecond), manyDeployments*contractsEach),
		func(c *converged) float64 { return seconds(c.deployed) / (n * float64(c.size)) }, took)
	row("Time until all records say so, a deployment", "≤ 1.25", fmt.Sprintf("in all %s: one putRecord at a time for an account, by its PDS", all.published.Round(100*time.Millisecond)),
		func(c *converged) float64 { return seconds(c.published) / float64(c.size) }, took)
	row("Requests to the API, a contract", "≤ 1.1", "the fulfiller's two status writes are among them; watches aren't",
		func(c *converged) float64 { return c.api / (n * float64(c.size)) }, plain)
	row("Requests to the PDS, a contract", "≤ 1.1", "status publications, and what checks them; the looks at the head aren't among them",
		func(c *converged) float64 { return c.pds / (n * float64(c.size)) }, plain)
	row("Commits of the repository, a deployment", "—", "publications of a deployment's status: the more its contracts hurry, the fewer",
		func(c *converged) float64 { return c.puts / float64(c.size) }, plain)
	row("Resident memory, a deployment with its contracts", "≤ 1.25", "server, controller, embedded etcd: objects in watch caches and informers, and room for garbage. In all "+strconv.FormatInt(all.memory>>20, 10)+" MiB",
		func(c *converged) float64 { return float64(c.memory-c.empty) / float64(c.size) }, func(f float64) string { return fmt.Sprintf("%.1f KiB", f/1024) })
}

// converged is what it took until all deployments of a repository were Deployed.
type converged struct {
	size                int
	deployed, published time.Duration
	api, pds, puts      float64
	empty, memory       int64
}

func converge(b *testing.B, size int) *converged {
	b.Helper()
	e := start(b, nil, "--controller")
	out := &converged{size: size, empty: e.rss(b)}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var fulfiller errgroup.Group
	fulfiller.Go(func() error { return e.fulfil(ctx) })
	api, pds, puts := e.spent(b)
	begin := time.Now()
	e.request(b, size)
	e.until(b, size, func(o *v1alpha1.Infra) bool { return o.Status.Phase == v1alpha1.PhaseDeployed })
	out.deployed = time.Since(begin)
	e.until(b, size, func(o *v1alpha1.Infra) bool {
		return o.Status.Record != nil && o.Status.Record.Direction == v1alpha1.DirectionInSync && o.Status.Phase == v1alpha1.PhaseDeployed
	})
	out.published = time.Since(begin)
	cancel()
	if err := fulfiller.Wait(); err != nil {
		b.Fatal(err)
	}
	apiNow, pdsNow, putsNow := e.spent(b)
	out.api, out.pds, out.puts, out.memory = apiNow-api, pdsNow-pds, putsNow-puts, e.rss(b)
	e.stop()
	return out
}

// request puts records that request contracts, 200 at a time.
func (e *env) request(b *testing.B, n int) {
	b.Helper()
	for i := 0; i < n; {
		var writes []any
		for ; len(writes) < 200 && i < n; i++ {
			value := record(fmt.Sprintf("deployment %d", i))
			var contracts []any
			for c := range contractsEach {
				contracts = append(contracts, map[string]any{"name": fmt.Sprintf("c%d", c), "state": "requested", "vmName": "web"})
			}
			value["contracts"] = contracts
			writes = append(writes, map[string]any{
				"$type": "com.atproto.repo.applyWrites#create", "collection": collection, "rkey": fmt.Sprintf("d%05d", i), "value": value,
			})
		}
		if err := e.xrpc(b.Context(), http.MethodPost, "com.atproto.repo.applyWrites", map[string]any{"repo": e.did(), "writes": writes}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// fulfil holds every contract as soon as it is asked for, until ctx ends.
func (e *env) fulfil(ctx context.Context) error {
	contracts := e.client.SocialwebV1alpha1().ComputeContracts()
	w, err := contracts.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer w.Stop()
	next := map[v1alpha1.ComputeContractPhase]v1alpha1.ComputeContractPhase{
		v1alpha1.ComputePending: v1alpha1.ComputeRequesting, v1alpha1.ComputeRequesting: v1alpha1.ComputeHeld,
	}
	var writes errgroup.Group
	writes.SetLimit(16)
	for event := range w.ResultChan() {
		cc, ok := event.Object.(*v1alpha1.ComputeContract)
		if !ok || event.Type == watch.Deleted {
			continue
		}
		to, ok := next[cc.Status.Phase]
		if !ok {
			continue
		}
		writes.Go(func() error {
			cc := cc.DeepCopy()
			cc.Status.Phase = to
			_, err := contracts.UpdateStatus(ctx, cc, metav1.UpdateOptions{})
			return err
		})
	}
	if err := writes.Wait(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// until waits until size objects are so.
func (e *env) until(b *testing.B, size int, so func(*v1alpha1.Infra) bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 20*time.Minute)
	defer cancel()
	w, err := e.client.SocialwebV1alpha1().Infras().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Stop()
	are := map[string]bool{}
	for event := range w.ResultChan() {
		o, ok := event.Object.(*v1alpha1.Infra)
		if !ok {
			b.Fatalf("the watch says %v", event.Object)
		}
		if are[o.Name] = so(o); !are[o.Name] {
			delete(are, o.Name)
		}
		if len(are) == size {
			return
		}
	}
	b.Fatalf("%d of %d, then the watch ended", len(are), size)
}

// spent is how many requests the server has answered, watches apart, and has sent to
// the PDS, and how many of those were puts.
func (e *env) spent(b *testing.B) (api, pds, puts float64) {
	b.Helper()
	text, err := e.client.SocialwebV1alpha1().RESTClient().Get().AbsPath("/metrics").Do(b.Context()).Raw()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		sample, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
		n, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil {
			continue
		}
		switch {
		case strings.HasPrefix(sample, "apiserver_request_total{") && strings.Contains(sample, `group="`+v1alpha1.GroupName+`"`) && !strings.Contains(sample, `verb="WATCH"`):
			api += n
		case strings.Contains(sample, "pds_request_duration_seconds_count{") && !strings.Contains(sample, `method="com.atproto.sync.getLatestCommit"`):
			pds += n
			if strings.Contains(sample, `method="com.atproto.repo.putRecord"`) {
				puts += n
			}
		}
	}
	if api == 0 {
		b.Fatal("the metrics don't count requests")
	}
	return api, pds, puts
}
