package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
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
	var ours, theirs times
	for range 3 {
		begin := time.Now()
		if err := e.export(b.Context()); err != nil {
			b.Fatal(err)
		}
		theirs = append(theirs, time.Since(begin))
		if err := os.RemoveAll(filepath.Join(e.dir, "data")); err != nil {
			b.Fatal(err)
		}
		begin = time.Now()
		e.run(b) // returns when the first consistent list was answered
		ours = append(ours, time.Since(begin))
		if len(ours) < 3 {
			e.stop()
		}
	}
	add(b, result{
		what: fmt.Sprintf("First start over %d records, to the first consistent list", many), ours: ours.String(), theirs: "one getRepo: " + theirs.String(), goal: "≤ 3",
		where: "process, etcd and certificates; the export; verification; 25 views an etcd transaction",
	}, ratio(ours.median(), theirs.median()))
}

func (e *env) export(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.pds.URL+"/xrpc/com.atproto.sync.getRepo?did="+e.did(), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := e.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func (e *env) benchList(b *testing.B) {
	b.Helper()
	ours, theirs := turns(b, 5, func(ctx context.Context, _ int) error { return e.list(ctx) }, func(ctx context.Context, _ int) error {
		for cursor, n := "", 0; ; {
			var page struct {
				Cursor  string
				Records []any
			}
			if err := e.xrpc(ctx, http.MethodGet, fmt.Sprintf("com.atproto.repo.listRecords?repo=%s&collection=%s&limit=100&cursor=%s", e.did(), collection, cursor), nil, &page); err != nil {
				return err
			}
			n += len(page.Records)
			if len(page.Records) == 0 || page.Cursor == "" {
				if n < many {
					return fmt.Errorf("paged %d records, want %d", n, many)
				}
				return nil
			}
			cursor = page.Cursor
		}
	})
	add(b, result{
		what: fmt.Sprintf("Consistent LIST of %d objects", many), ours: ours.String(), theirs: "paging listRecords: " + theirs.String(), goal: "≤ 0.033 (30 times faster)",
		where: "one getLatestCommit; the rest is JSON and its decoding in the client",
	}, ratio(ours.median(), theirs.median()))
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
