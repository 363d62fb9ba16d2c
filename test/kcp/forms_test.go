package kcp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// TestTable: kubectl get, whose columns kcp doesn't make for virtual resources.
func TestTable(t *testing.T) {
	beside(t)
	w := start(t).tenant(t, "tables")
	w.create(t, "a", "one")
	w.must(t, request{method: http.MethodPatch, path: infras + "/a/status", kind: mergePatch, body: `{"status":{"phase":"Deployed","contracts":[{"name":"web","phase":"Deployed"}]}}`})
	w.create(t, "b", "two")
	a := w.must(t, request{path: infras + "?limit=500", accept: asTable})
	table := decode[metav1.Table](t, a.body)
	var columns []string
	for _, c := range table.ColumnDefinitions {
		if c.Priority == 0 {
			columns = append(columns, c.Name)
		}
	}
	if table.Kind != "Table" || table.ResourceVersion == "" || !slices.Equal(columns, []string{"Name", "Phase", "Contracts", "Record", "Age"}) || len(table.Rows) != 2 {
		t.Fatalf("table %s", a.body)
	}
	if c := table.Rows[0].Cells; c[0] != "a" || c[1] != "Deployed" || c[2] != "1/1" || c[3] != "a" {
		t.Errorf("row %v", c)
	}
	if c := table.Rows[1].Cells; c[0] != "b" || c[3] != "b" {
		t.Errorf("row %v", c)
	}
	// With a row comes the metadata of its object.
	if m := decode[metav1.PartialObjectMetadata](t, string(table.Rows[0].Object.Raw)); m.Name != "a" || m.Annotations["kcp.io/cluster"] != "tables" {
		t.Errorf("object of a row: %s", table.Rows[0].Object.Raw)
	}
	single := decode[metav1.Table](t, w.must(t, request{path: infras + "/b", accept: asTable}).body)
	if len(single.Rows) != 1 || single.Rows[0].Cells[0] != "b" {
		t.Errorf("table of one: %+v", single)
	}
	meta := decode[metav1.PartialObjectMetadataList](t, w.must(t, request{path: infras, accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}).body)
	if meta.Kind != "PartialObjectMetadataList" || len(meta.Items) != 2 || meta.Items[1].Name != "b" {
		t.Errorf("metadata alone: %+v", meta)
	}
	if a := w.must(t, request{path: infras + "/a", accept: "application/yaml"}); !strings.Contains(a.body, "\nkind: Infra\n") {
		t.Errorf("YAML: %s", a.body)
	}
	if a := w.do(t, request{path: infras, accept: "application/vnd.kubernetes.protobuf"}); a.status != http.StatusNotAcceptable {
		t.Errorf("protobuf: %d %s", a.status, a.body)
	}
}

// TestGzip: a long answer comes compressed to those who take it, and is the same.
func TestGzip(t *testing.T) {
	beside(t)
	w := start(t).tenant(t, "gzip")
	long := newInfra("long", "x")
	long.Annotations = map[string]string{"long": strings.Repeat("annotation ", 16_000)}
	w.must(t, request{method: http.MethodPost, path: infras, body: long})
	w.settled(t)
	for _, path := range []string{infras + "/long", infras + "?fieldSelector=metadata.name%3Dlong&resourceVersion=0"} {
		zipped := w.must(t, request{path: path, header: http.Header{"Accept-Encoding": {"gzip"}}})
		plain := w.must(t, request{path: path, header: http.Header{"Accept-Encoding": {"identity"}}})
		if zipped.header.Get("Content-Encoding") != "gzip" || plain.header.Get("Content-Encoding") != "" || len(plain.body) < 160_000 {
			t.Errorf("%s: encodings %q and %q, %d bytes", path, zipped.header.Get("Content-Encoding"), plain.header.Get("Content-Encoding"), len(plain.body))
		}
		if strings.HasSuffix(path, "/long") && zipped.body != plain.body {
			t.Errorf("%s: they differ", path)
		}
	}
	if got := w.infra(t, "long"); got.Annotations["long"] != long.Annotations["long"] {
		t.Error("the annotation is another")
	}
	if r := w.record(t, "long"); r["description"] != "x" || len(encode(t, r)) > 1000 {
		t.Errorf("record %.300v", r)
	}
}

// TestHTTP2: a shard has one connection for all of its workspaces, and what streams in
// it holds nothing up.
func TestHTTP2(t *testing.T) {
	beside(t)
	e := start(t)
	w := e.workspace(t, "http2")
	s := e.connect(t, e.ca.client(t, "system:kcp:shard:two"))
	var connections atomic.Int64
	var state tls.ConnectionState
	trace := &httptrace.ClientTrace{
		TLSHandshakeDone: func(s tls.ConnectionState, err error) {
			if err == nil {
				connections.Add(1)
				state = s
			}
		},
	}
	ctx, cancel := context.WithCancel(httptrace.WithClientTrace(t.Context(), trace))
	defer cancel()
	for range 20 {
		resp, err := s.open(ctx, request{path: w.path(infras) + "?watch=1&resourceVersion=0"})
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK || resp.Proto != "HTTP/2.0" {
			t.Fatalf("watch: %s %s", resp.Proto, resp.Status)
		}
		defer resp.Body.Close() //nolint:errcheck,gocritic // all of them are open until the end
	}
	for i := range 20 {
		a := s.doCtx(ctx, t, request{path: prefix + fmt.Sprintf("/clusters/http2-%d", i) + infras})
		if a.status != http.StatusOK || len(decode[v1alpha1.InfraList](t, a.body).Items) != 0 {
			t.Errorf("list beside watches: %d %s", a.status, a.body)
		}
	}
	if n := connections.Load(); n != 1 || state.Version != tls.VersionTLS13 || state.NegotiatedProtocol != "h2" {
		t.Errorf("%d connections, TLS %x, %s", n, state.Version, state.NegotiatedProtocol)
	}
}
