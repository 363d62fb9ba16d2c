package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const many = 10000

// BenchmarkMany measures what depends on the number of records: the start, the
// consistent list and the memory.
func BenchmarkMany(b *testing.B) {
	var empty int64
	e := start(b, nil)
	empty = e.rss(b)
	e.stop()
	e.token = e.login(b)
	e.fill(b, many)
	e.benchStart(b)
	e.benchList(b)
	e.benchMemory(b, empty)
}

// benchStart: a start with an empty cache against one export of the repository.
func (e *env) benchStart(b *testing.B) {
	b.Helper()
	var ours, theirs, rebuilt times
	for range 3 {
		begin := time.Now()
		if err := e.export(b.Context(), e.did()); err != nil {
			b.Fatal(err)
		}
		theirs = append(theirs, time.Since(begin))
		if err := os.RemoveAll(filepath.Join(e.dir, "data")); err != nil {
			b.Fatal(err)
		}
		begin = time.Now()
		e.run(b) // returns when the first consistent list was answered
		ours = append(ours, time.Since(begin))
		rebuilt = append(rebuilt, e.compared(b))
		if len(ours) < 3 {
			e.stop()
		}
	}
	add(b, result{
		what: fmt.Sprintf("Views rebuilt from %d records", many), ours: rebuilt.String(), theirs: "one getRepo: " + theirs.String(), goal: "≤ 3",
		where: "the export itself, its blocks' hashes and its tree; each object made, encoded and written to etcd in a transaction, and so at a revision, of its own, 32 at once; the watch cache decodes each meanwhile",
	}, ratio(rebuilt.median(), theirs.median()))
	add(b, result{
		what: fmt.Sprintf("First start over %d records, to the first consistent list", many), ours: ours.String(), theirs: "one getRepo: " + theirs.String(), goal: "—",
		where: "the row above; before it process, etcd, the session with the PDS, certificates and the API server; after it the list of all",
	}, ratio(ours.median(), theirs.median()))
}

// compared is how long the server says that its first comparison took.
func (e *env) compared(b *testing.B) time.Duration {
	b.Helper()
	log, err := os.ReadFile(filepath.Join(e.dir, "data", "server.log"))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, found := strings.Cut(string(log), `"The repository was compared"`)
	line, _, _ := strings.Cut(rest, "\n")
	_, took, _ := strings.Cut(line, `took="`)
	took, _, _ = strings.Cut(took, `"`)
	d, err := time.ParseDuration(took)
	if !found || err != nil {
		b.Fatalf("the server tells of no comparison: %q, %v", line, err)
	}
	return d
}

func (e *env) benchList(b *testing.B) {
	b.Helper()
	ours, theirs := turns(b, 5, func(ctx context.Context, _ int) error { return e.list(ctx) }, func(ctx context.Context, _ int) error {
		var all []any
		if err := e.pages(ctx, func(page json.RawMessage) (n int, err error) {
			var records []any
			err = json.Unmarshal(page, &records)
			all = append(all, records...)
			return len(records), err
		}); err != nil {
			return err
		}
		if len(all) < many {
			return fmt.Errorf("paged %d records, want %d", len(all), many)
		}
		return nil
	})
	rawOurs, rawTheirs := turns(b, 5, func(ctx context.Context, _ int) error {
		body, err := e.client.SocialwebV1alpha1().RESTClient().Get().Resource("infras").Do(ctx).Raw()
		if err == nil && len(body) < many*100 {
			err = fmt.Errorf("a list of %d bytes", len(body))
		}
		return err
	}, func(ctx context.Context, _ int) error {
		return e.pages(ctx, func(page json.RawMessage) (int, error) { return bytes.Count(page, []byte(`"uri"`)), nil })
	})
	add(b, result{
		what: fmt.Sprintf("Consistent LIST of %d objects", many), ours: ours.String(), theirs: "paging listRecords: " + theirs.String(), goal: "≤ 0.033 (30 times faster)",
		where: "one getLatestCommit; the rest is JSON, a third of it encoding in the server and the most its decoding in the client. The PDS takes about 4 ms for a page of 100; thirty times less is 2 µs an object, and encoding/json takes ten times that to decode one",
	}, ratio(ours.median(), theirs.median()))
	add(b, result{
		what: fmt.Sprintf("The same without decoding: %d objects as bytes", many), ours: rawOurs.String(), theirs: "paging listRecords, undecoded: " + rawTheirs.String(), goal: "—",
		where: "the server's own time: the barrier, encoding from the watch cache, TLS",
	}, ratio(rawOurs.median(), rawTheirs.median()))
}

// pages walks the collection; records gets each page's records and says how many
// there are.
func (e *env) pages(ctx context.Context, records func(json.RawMessage) (int, error)) error {
	for cursor := ""; ; {
		var page struct {
			Cursor  string
			Records json.RawMessage
		}
		if err := e.xrpc(ctx, http.MethodGet, fmt.Sprintf("com.atproto.repo.listRecords?repo=%s&collection=%s&limit=100&cursor=%s", e.did(), collection, cursor), nil, &page); err != nil {
			return err
		}
		n, err := records(page.Records)
		if err != nil {
			return err
		}
		if n == 0 || page.Cursor == "" {
			return nil
		}
		cursor = page.Cursor
	}
}

// benchMemory divides what the process grew by by the number of objects.
func (e *env) benchMemory(b *testing.B, empty int64) {
	b.Helper()
	full := e.rss(b)
	perObject := float64(full-empty) / many
	size := len(mustJSON(b, record("record 0")))
	add(b, result{
		what: "Resident memory per object (server, cache and embedded etcd)", ours: fmt.Sprintf("%.1f KiB (%d MiB in all)", perObject/1024, full>>20),
		theirs: fmt.Sprintf("its record as JSON: %d B", size), goal: "—", where: "the watch cache's object, etcd's page cache, room of the last list's garbage",
	}, perObject/float64(size))
}

func (e *env) rss(b *testing.B) int64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", e.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		if f := strings.Fields(string(line)); len(f) > 1 && f[0] == "VmRSS:" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib << 10
		}
	}
	b.Fatal("no VmRSS")
	return 0
}
