package kubectlinfra

import (
	"encoding/json"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// edit changes a record past the server.
func (p plugin) edit(t *testing.T, name string, change func(map[string]any)) {
	t.Helper()
	key := atproto.Key{Collection: "computer.socialweb.infra", RKey: name}
	r, err := p.Repo.GetRecord(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	change(r.Value)
	if _, err := p.Repo.PutRecord(t.Context(), key, r.Value, atproto.Swap{CID: r.CID}); err != nil {
		t.Fatal(err)
	}
}

func testRecord(t *testing.T, p plugin) {
	p.create(t, "shown", contracts("a")...)
	same := p.do(t.Context(), "record", "shown", "--exit-code")
	if same.code != 0 || strings.Contains(same.out, "!") {
		t.Errorf("the same: exit %d\n%s", same.code, same.out)
	}
	for _, want := range []string{
		"URI:         at://" + p.PDS.DID + "/computer.socialweb.infra/shown\n", "PDS:         " + p.PDS.URL + "\n",
		`  contracts[0].state   "staged"`, `  description          "of shown"`,
	} {
		if !strings.Contains(same.out, want) {
			t.Errorf("%q is missing:\n%s", want, same.out)
		}
	}
	r, err := p.Repo.GetRecord(t.Context(), atproto.Key{Collection: "computer.socialweb.infra", RKey: "shown"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(same.out, "CID:         "+r.CID+"\n") {
		t.Errorf("not the record's CID %s:\n%s", r.CID, same.out)
	}
	var raw map[string]any
	if err := json.Unmarshal([]byte(p.run(t, "record", "shown", "-o", "json")), &raw); err != nil || raw["$type"] != "computer.socialweb.infra" {
		t.Errorf("%v, %v", err, raw)
	}

	p.change(t, "shown", func(o *v1alpha1.Infra) { o.Spec.Record = nil })
	p.fails(t, 1, "error: infra shown: it is private: it has no record", "record", "shown")
	p.fails(t, 2, "error: infra shown: it is private: it has no record", "record", "shown", "--exit-code")
}

// testRecordBeyond: what is beyond the kind is marked, and is no difference.
func testRecordBeyond(t *testing.T, p plugin) {
	p.create(t, "beyond", contracts("a")...)
	p.edit(t, "beyond", func(r map[string]any) {
		r["note"] = "<ours>"
		r["contracts"].([]any)[0].(map[string]any)["colour"] = map[string]any{"r": int64(1)}
	})
	r := p.do(t.Context(), "record", "beyond", "--exit-code")
	for _, want := range []string{`+ note `, `"<ours>"`, `+ contracts[0].colour.r`, "+ is beyond the kind: it stays in the record.\n"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is missing:\n%s", want, r.out)
		}
	}
	if r.code != 0 || strings.Contains(r.out, "\n! ") {
		t.Errorf("exit %d\n%s", r.code, r.out)
	}
	if raw := p.run(t, "record", "beyond", "-o", "json"); !strings.Contains(raw, `"note": "<ours>"`) {
		t.Error(raw)
	}
}

// testRecordInvalid: the object keeps its last valid declaration, so they differ.
func testRecordInvalid(t *testing.T, p plugin) {
	p.create(t, "broken", contracts("a")...)
	p.edit(t, "broken", func(r map[string]any) { r["contracts"].([]any)[0].(map[string]any)["state"] = "up" })
	r := p.do(t.Context(), "record", "broken", "--exit-code")
	if r.code != 1 || !strings.Contains(r.out, `! contracts[0].state   "up"`) || !strings.Contains(r.out, "\nRecordValid is False: record ") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	tree := p.run(t, "tree", "broken")
	if !strings.Contains(tree, "\n\nInfra/broken: "+v1alpha1.ConditionRecordValid+"=False, InvalidRecord: ") {
		t.Error(tree)
	}
}
