package kubectl

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func testFormats(t *testing.T, e env) {
	e.create(t, "formats")
	e.settle(t, "formats")
	var fromJSON, fromYAML map[string]any
	if err := json.Unmarshal([]byte(e.k.Run(t, "get", "infra", "formats", "-o", "json")), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(e.k.Run(t, "get", "infra", "formats", "-o", "yaml")), &fromYAML); err != nil {
		t.Fatal(err)
	}
	a, err := json.Marshal(fromJSON)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(fromYAML)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) || fromJSON["kind"] != "Infra" || fromJSON["apiVersion"] != "socialweb.computer/v1alpha1" {
		t.Errorf("JSON %s\nYAML %s", a, b)
	}
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []map[string]any
	}
	if err := json.Unmarshal([]byte(e.k.Run(t, "get", "--raw", "/apis/socialweb.computer/v1alpha1/infras")), &list); err != nil {
		t.Fatal(err)
	}
	if rv := list.Metadata.ResourceVersion; rv == "" || rv == "0" {
		t.Errorf("the list's resourceVersion is %q", rv)
	}
	if len(list.Items) != 1 || list.Items[0]["spec"] == nil {
		t.Errorf("items: %v", list.Items)
	}
	if out := e.k.Run(t, "describe", "infra", "formats"); !strings.Contains(out, "of formats") {
		t.Errorf("describe: %s", out)
	}
}

func testTable(t *testing.T, e env) {
	e.create(t, "table")
	e.k.Run(t, "patch", "infra", "table", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Deployed","contracts":[{"name":"web","phase":"Deployed"}]}}`)
	lines := strings.Split(strings.TrimSpace(e.k.Run(t, "get", "infras")), "\n")
	if got := strings.Fields(lines[0]); strings.Join(got, " ") != "NAME PHASE CONTRACTS RECORD AGE" {
		t.Errorf("head: %v", got)
	}
	if got := strings.Fields(lines[1]); strings.Join(got[:4], " ") != "table Deployed 1/1 table" || strings.Contains(got[4], "unknown") {
		t.Errorf("row: %v", got)
	}
	lines = strings.Split(strings.TrimSpace(e.k.Run(t, "get", "infras", "-o", "wide")), "\n")
	if got := strings.Fields(lines[0]); strings.Join(got[5:], " ") != "URI CID DIRECTION" {
		t.Errorf("wide head: %v", got)
	}
	if got := strings.Fields(lines[1]); !strings.HasPrefix(got[5], "at://"+e.Repo.DID()) || !strings.HasPrefix(got[6], "bafyrei") {
		t.Errorf("wide row: %v", got)
	}
	repos := e.k.Run(t, "get", "arepo")
	if got := strings.Fields(repos); strings.Join(got[:7], " ") != "NAME ACCOUNT ACCESS DEFAULT READY REV AGE" || got[7] != "default" || got[11] != "True" {
		t.Errorf("AtprotoRepos: %s", repos)
	}
}

func testSelectors(t *testing.T, e env) {
	e.create(t, "select-a")
	e.create(t, "select-b")
	e.k.Run(t, "label", "infra", "select-a", "color=red")
	for selector, want := range map[string]string{
		"-lcolor=red":           "infra.socialweb.computer/select-a",
		"-lcolor!=red":          "infra.socialweb.computer/select-b",
		"-lcolor in (red,blue)": "infra.socialweb.computer/select-a",
		"-l!color":              "infra.socialweb.computer/select-b",
		"--field-selector=metadata.name=select-b": "infra.socialweb.computer/select-b",
	} {
		if got := strings.TrimSpace(e.k.Run(t, "get", "infras", selector, "-o", "name")); got != want {
			t.Errorf("%s: %q, want %q", selector, got, want)
		}
	}
	err := e.k.Fails(t, "", "get", "infras", "--field-selector=spec.nope=1")
	if !strings.Contains(err, "BadRequest") || !strings.Contains(err, "spec.nope") {
		t.Errorf("an unknown field: %s", err)
	}
}

func testExplain(t *testing.T, e env) {
	out := e.k.Run(t, "explain", "infra.spec", "--recursive")
	for _, want := range []string{"contracts", "sshAuthorizedKeys", "secretRef", "deletionPolicy"} {
		if !strings.Contains(out, want) {
			t.Errorf("explain infra.spec lacks %s", want)
		}
	}
	for _, field := range []string{"infra.spec.contracts.state", "einf.spec.ttlSeconds", "arepo.spec.access", "infra.status.record.cid", "cc.spec.resources.cpu", "infcol.spec.maxItems", "einfcol.status.children.boundBy"} {
		if out := e.k.Run(t, "explain", field); !strings.Contains(out, "DESCRIPTION") || strings.Contains(out, "<empty>") {
			t.Errorf("explain %s: %s", field, out)
		}
	}
	e.k.Fails(t, "", "explain", "infra.spec.nope")
}

func testValidation(t *testing.T, e env) {
	unknown := strings.Replace(manifest("invalid", "x"), `"description"`, `"colour"`, 1)
	if err := e.k.Fails(t, unknown, "apply", "--dry-run=server", "--validate=strict", "-f", "-"); !strings.Contains(err, "spec.colour") {
		t.Errorf("strict: %s", err)
	}
	r := e.k.Do(t, unknown, "create", "--dry-run=server", "--validate=warn", "-f", "-")
	if r.Code != 0 || !strings.Contains(r.Err, "spec.colour") {
		t.Errorf("warn: exit %d, %s", r.Code, r.Err)
	}
	twice := strings.Replace(manifest("invalid", "x"), `"contracts":[`, `"contracts":[{"name":"web"},`, 1)
	if err := e.k.Fails(t, twice, "create", "-f", "-"); !strings.Contains(err, "spec.contracts[1].name") || !strings.Contains(err, "Duplicate") {
		t.Errorf("two contracts of one name: %s", err)
	}
	err := e.k.Fails(t, `{"apiVersion":"socialweb.computer/v1alpha1","kind":"AtprotoRepo","metadata":{"name":"second"},
"spec":{"did":"did:plc:ewvi7nxzyoun6zhxrhs64oiz","pds":"`+e.Repo.Host()+`","default":true}}`, "create", "-f", "-")
	if !strings.Contains(err, "spec.default") {
		t.Errorf("a second default repository: %s", err)
	}
}
