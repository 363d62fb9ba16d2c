package atproto

import (
	"fmt"
	"net/http"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto/internal/cartest"
)

// BenchmarkExport is our part of an export of 10,000 records: reading the CAR,
// verifying hashes, signature and tree, decoding the records.
func BenchmarkExport(b *testing.B) {
	r := cartest.Repo{DID: testDID, Records: map[string]map[string]any{}}
	for i := range 10_000 {
		k := Key{Collection: testKey.Collection, RKey: fmt.Sprintf("infra-%05d", i)}
		r.Records[k.Path()] = map[string]any{
			"$type": testKey.Collection, "createdAt": "2026-01-02T03:04:05.000Z", "description": fmt.Sprint("infra ", i),
			"contracts": []any{map[string]any{"name": "a", "state": "Requested", "vmName": "vm", "policyArgs": []any{"x", "y"}}},
		}
	}
	built := r.Build(b)
	car := built.CAR(b, nil)
	f := newFakePDS(b)
	f.on(exportMethod, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(car) })
	c := f.client(b, func(cfg *Config) { cfg.Keys = oneKey{built.Public} })
	b.SetBytes(int64(len(car)))
	b.ReportAllocs()
	for b.Loop() {
		all, _, err := c.Export(b.Context(), []string{testKey.Collection})
		if err != nil || len(all) != 10_000 {
			b.Fatal(len(all), err)
		}
	}
}
