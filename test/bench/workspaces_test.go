package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/bench/measure"
)

var (
	workspaces = flag.Int("workspaces", 1000, "how many workspaces BenchmarkWorkspaces has")
	profiles   = flag.String("profiles", "", "directory for the heap and goroutine profiles of the idle server")
)

// fewWorkspaces are there when it is measured first, and as many are opened one after
// the other at last.
const fewWorkspaces = 10

// workspaceRows are the rows of their own section.
var workspaceRows []measure.Row

func workspacesSection() *measure.Section {
	return &measure.Section{
		Title: measure.Workspaces,
		Intro: fmt.Sprintf("Measured on %s: `infra-apiserver dev --pds --workspaces` over the embedded PDS in another process, one account\nwith %d records and credentials of its own for each workspace. %d workspaces are compared with the first %d, on the same\nserver. Memory and counts are those of an idle server, memory after a collection of the garbage.",
			machine, infrasEach, *workspaces, fewWorkspaces),
		Rows: workspaceRows,
	}
}

// BenchmarkWorkspaces measures what a workspace costs while nobody uses it, and how
// much those that nobody uses cost one that somebody does.
func BenchmarkWorkspaces(b *testing.B) {
	workspaceRows = nil
	n := *workspaces
	t := startTenants(b, n)
	ctx := b.Context()
	t.settle(b, 0)

	few := t.openAll(b, 0, fewWorkspaces)
	t.settle(b, fewWorkspaces)
	fewSize := t.footprint(b, "few")
	fewTimes := t.times(b)
	t.pds.mostConns.Store(0)
	t.each(b, fewWorkspaces, n-fewWorkspaces, func(ctx context.Context, i int) error { _, err := t.open(ctx, i); return err })
	opening := t.pds.mostConns.Load()
	t.settle(b, n-fewWorkspaces)
	many := t.openAll(b, n-fewWorkspaces, n)
	t.settle(b, n)
	allSize := t.footprint(b, "many")
	cpu, requests := t.idle(b)
	t.profile(b, "idle", 20*time.Second)()
	allTimes := t.times(b)
	start := t.restart(b)
	if err := t.listed(ctx, 0); err != nil {
		b.Fatal(err)
	}

	rows := t.footprintRows(b, fewSize, allSize, cpu, requests, max(opening, start.conns))
	rows = append(rows,
		row("Start, until all are ready", start.ready, start.exports, "their exports, 8 at once", "—",
			fmt.Sprintf("each is compared at a start: head, export, views. It took %.1f s of CPU, %.1f ms for each. All lists were answered after %s; %d connections at once at most",
				start.cpu, start.cpu*1000/float64(n), measure.Round(start.listed), start.conns)),
		timesRow("AtprotoRepo created, to the first consistent list", many, few, "≤ 1.5", "identity, session, probe of the swap, export, one transaction an object"))
	for i, what := range timed {
		rows = append(rows, timesRow(what.name, allTimes[i], fewTimes[i], "≤ 1.5", what.where))
	}
	for i := range rows {
		rows[i].Log(b)
	}
	workspaceRows = rows
}

// footprintRows are what a workspace that nobody uses costs.
func (t *tenants) footprintRows(b *testing.B, few, all footprint, cpu, requests float64, most int64) []measure.Row {
	b.Helper()
	n := float64(len(t.tokens) - fewWorkspaces)
	size := float64(t.jsonSize(b, 0))
	kib := func(f float64) string { return fmt.Sprintf("%.1f KiB", f/1024) }
	memory := func(what string, of func(footprint) float64, where string) measure.Row {
		each := (of(all) - of(few)) / n
		return measure.Row{
			What: what, Ours: fmt.Sprintf("%s (%.0f MiB in all)", kib(each), of(all)/(1<<20)), Theirs: "its infras as JSON: " + kib(size),
			Ratio: each / size, Goal: "—", Where: where,
		}
	}
	count := func(what string, now, before float64, goal, where string) measure.Row {
		return measure.Row{
			What: what, Ours: fmt.Sprintf("%.0f", now), Theirs: fmt.Sprintf("with %d: %.0f", fewWorkspaces, before),
			Ratio: now / max(before, 1), Goal: goal, Where: where,
		}
	}
	return []measure.Row{
		memory("Live memory of an idle workspace", func(f footprint) float64 { return f.live }, fmt.Sprintf("heap and stacks of server and embedded etcd: %d infras and an AtprotoRepo in watch caches, etcd's index, the mount with its session", infrasEach)),
		memory("Resident memory of an idle workspace", func(f footprint) float64 { return f.resident }, "the same, etcd's page cache, and room for garbage"),
		count("Goroutines of an idle server", all.goroutines, few.goroutines, "≤ 1.1", fmt.Sprintf("%.3f for each further workspace", (all.goroutines-few.goroutines)/n)),
		count("Event streams of an idle server", float64(all.streams), float64(few.streams), "≤ 1", "one for the PDS host"),
		count("Connections to the PDS of an idle server, beside the streams", float64(all.conns), float64(few.conns), "≤ 2", fmt.Sprintf("at most %d at once, while all were read", most)),
		{
			What: "CPU of an idle server, of a core", Ours: fmt.Sprintf("%.2f %%", cpu*100), Theirs: "—", Goal: "—",
			Where: fmt.Sprintf("%.1f requests a second to the PDS, of which the looks at a quiet host's heads are 10", requests),
		},
	}
}

func row(what string, ours, theirs time.Duration, than, goal, where string) measure.Row {
	return measure.Row{
		What: what, Ours: measure.Round(ours).String(), Theirs: than + ": " + measure.Round(theirs).String(),
		Ratio: ratio(ours, theirs), Goal: goal, Where: where,
	}
}

func timesRow(what string, ours, theirs times, goal, where string) measure.Row {
	return measure.Row{
		What: what, Ours: ours.String(), Theirs: fmt.Sprintf("with %d: %s", fewWorkspaces, theirs),
		Ratio: ratio(ours.median(), theirs.median()), Goal: goal, Where: where,
	}
}

// openAll opens one workspace after the other.
func (t *tenants) openAll(b *testing.B, from, to int) (out times) {
	b.Helper()
	for i := from; i < to; i++ {
		took, err := t.open(b.Context(), i)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, took)
	}
	return out
}

// timed is what is measured in one workspace while the others are idle, in the order of
// times.
var timed = []struct{ name, where string }{
	{"Consistent LIST of a workspace", "one getLatestCommit"},
	{"Create in a workspace", "putRecord, two etcd writes"},
	{"PATCH of the declaration in a workspace", "putRecord, two etcd writes"},
	{"Foreign put to watch event in a workspace", "the event; two etcd transactions; the watch cache"},
}

// times of what is timed, in the first workspace.
func (t *tenants) times(b *testing.B) [4]times {
	b.Helper()
	infras := t.clients[0].SocialwebV1alpha1().Infras()
	w, err := infras.Watch(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Stop()
	run := time.Now().UnixNano()
	name := func(i int) string { return fmt.Sprintf("made-%d-%d", run, i) }
	list := measure.Timed(func(ctx context.Context, _ int) error { _, err := infras.List(ctx, metav1.ListOptions{}); return err })
	create := measure.Timed(func(ctx context.Context, i int) error {
		_, err := infras.Create(ctx, &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: name(i)}}, metav1.CreateOptions{})
		return err
	})
	patch := measure.Timed(func(ctx context.Context, i int) error {
		_, err := infras.Patch(ctx, recordName(0), types.MergePatchType, fmt.Appendf(nil, `{"spec":{"description":"%d %d"}}`, run, i), metav1.PatchOptions{})
		return err
	})
	foreign := func(ctx context.Context, i int) (time.Duration, error) {
		text := fmt.Sprintf("foreign %d %d", run, i)
		err := t.as(ctx, t.tokens[0], "com.atproto.repo.putRecord", map[string]any{
			"repo": t.account(0).DID, "collection": collection, "rkey": recordName(1), "record": record(text),
		}, nil)
		begin := time.Now()
		if err == nil && awaitDescription(w, text).IsZero() {
			err = errors.New("the watch has ended")
		}
		return time.Since(begin), err
	}
	const warm, n = 3, 40
	out := measure.Turns(b, warm, n, list, create, patch, foreign)
	t.each(b, 0, warm+n, func(ctx context.Context, i int) error { return infras.Delete(ctx, name(i), metav1.DeleteOptions{}) })
	return [4]times{times(out[0]), times(out[1]), times(out[2]), times(out[3])}
}

// started is what a start over all workspaces took.
type started struct {
	ready, listed, exports time.Duration
	cpu                    float64 // seconds, until it was ready
	conns                  int64
}

// restart stops the server and starts it again.
func (t *tenants) restart(b *testing.B) (s started) {
	b.Helper()
	t.stop()
	s.exports = t.exports(b)
	t.pds.mostConns.Store(0)
	begin := time.Now()
	t.run(b)
	defer t.profile(b, "start", 10*time.Second)()
	for status := 0; status != http.StatusOK; time.Sleep(5 * time.Millisecond) {
		t.env.client.SocialwebV1alpha1().RESTClient().Get().RequestURI("/readyz").Do(b.Context()).StatusCode(&status)
	}
	s.ready, s.cpu = time.Since(begin), t.cpu(b)
	t.each(b, 0, len(t.tokens), t.listed)
	s.listed = time.Since(begin)
	s.conns = t.pds.mostConns.Load()
	return s
}
