package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestRefusedRepos: an AtprotoRepo that could not work as it stands is refused, by
// the field, the value and what to do; one that serves less than it seems to is
// accepted with a warning.
func TestRefusedRepos(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	const did = "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"
	create := func(spec record) answer {
		if spec["did"] == nil {
			spec["did"] = did
		}
		return e.do(t, request{method: http.MethodPost, path: resources["AtprotoRepo"] + "?dryRun=All", body: record{
			"apiVersion": "socialweb.computer/v1alpha1", "kind": "AtprotoRepo", "metadata": record{"name": "x"}, "spec": spec,
		}})
	}
	for _, c := range []struct {
		spec record
		want []string // of the message
	}{
		{record{"eventSource": "Jetstream"}, []string{"spec.jetstreamURL", `"Jetstream"`, "--jetstream-url", "Firehose or Poll"}},
		{record{"eventSource": "Jetstream", "jetstreamURL": "https://jet.example"}, []string{"spec.jetstreamURL", "https://jet.example", "wss"}},
		{record{"eventSource": "Jetstream", "jetstreamURL": "wss://jet.example/subscribe"}, []string{"spec.jetstreamURL", "/subscribe", "base URL only"}},
		{record{"eventSource": "Poll", "jetstreamURL": "wss://jet.example"}, []string{"spec.jetstreamURL", "set eventSource to Jetstream, or remove it"}},
		{record{"eventSource": "Push"}, []string{"spec.eventSource", `"Push"`, `"Firehose", "Jetstream", "Poll"`}},
		{record{"did": "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme"}, []string{"spec.did", "did:key:zQ3s", "did:plc and did:web"}},
		{record{"did": "alice.example.com"}, []string{"spec.did", `"alice.example.com"`, "write it like"}},
		{record{"did": ""}, []string{"spec.did", "set did, or handle"}},
		{record{"handle": "@alice.example.com"}, []string{"spec.handle", `"@alice.example.com"`, "without '@'"}},
		{record{"pds": "ftp://pds.example"}, []string{"spec.pds", "ftp://pds.example", "https or http"}},
		{record{"pds": "https://pds.example:99999"}, []string{"spec.pds", "99999", "1 to 65535"}},
		{record{"pds": "https://u:hunter2@pds.example"}, []string{"spec.pds", "remove them", "spec.credentialsRef"}},
		{record{"credentialsRef": record{"name": "../x"}}, []string{"spec.credentialsRef.name", `"../x"`}},
		{record{"access": "Write"}, []string{"spec.access", `"Write"`, `"None", "Read", "ReadWrite"`}},
		{record{"staleReads": "Yes"}, []string{"spec.staleReads", `"Yes"`, `"Deny", "Allow"`}},
		{record{"execution": "Run"}, []string{"spec.execution", `"Run"`, `"Follow", "ObserveOnly"`}},
	} {
		a := create(c.spec)
		spec, err := json.Marshal(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if a.status != http.StatusUnprocessableEntity || contains(a.failure.Message, c.want...) != nil || strings.Contains(a.body, "hunter2") {
			t.Errorf("%s: %d %s; want %q in it", spec, a.status, a.body, c.want)
		}
	}
	for _, c := range []struct {
		spec record
		want string // in the warnings
	}{
		{record{}, "spec.credentialsRef: is empty"},
		{record{"access": "Read"}, ""},
		{record{"access": "Read", "eventSource": "Poll"}, ""},
		{record{"access": "Read", "eventSource": "Jetstream", "jetstreamURL": "wss://jet.example"}, ""},
		{record{"credentialsRef": record{"name": "x"}, "pds": "http://pds.example"}, "spec.pds: is an http URL"},
	} {
		a := create(c.spec)
		if warnings := strings.Join(a.header["Warning"], " "); a.status != http.StatusCreated || (warnings == "") != (c.want == "") || !strings.Contains(warnings, c.want) {
			t.Errorf("%v: %d %s, warnings %q, want %q", c.spec, a.status, a.body, warnings, c.want)
		}
	}
	// A change is held to the same rules.
	a := e.do(t, request{method: http.MethodPatch, path: resources["AtprotoRepo"] + "/" + repoName, kind: mergePatch, body: `{"spec":{"eventSource":"Jetstream"}}`})
	if a.status != http.StatusUnprocessableEntity || contains(a.failure.Message, "spec.jetstreamURL") != nil {
		t.Errorf("changed to a Jetstream without an address: %d %s", a.status, a.body)
	}
}
