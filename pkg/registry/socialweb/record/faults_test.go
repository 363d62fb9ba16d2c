package record

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"socialweb.computer/infra-apiserver/internal/repostore"
)

var update = flag.Bool("update", false, "write testdata/messages.txt anew")

// refusal is what a user is told of a record.
func refusal(t *testing.T, m repostore.RecordMapper, record map[string]any) string {
	t.Helper()
	_, err := m.Decode(record, m.New())
	var invalid *repostore.InvalidRecordError
	if !errors.As(err, &invalid) {
		t.Fatalf("got %v, want an InvalidRecordError", err)
	}
	return err.Error()
}

// TestMessages: what each record of the corpus is refused with, word by word, so
// that a change of the words is seen. The words say what to do, and not how Go
// holds the value.
func TestMessages(t *testing.T) {
	var out strings.Builder
	for _, c := range corpus(t) {
		message := refusal(t, mapperFor(c.Name), c.Record)
		for _, raw := range []string{"map[", "interface", "int64", "%!", "<nil>", "expected"} {
			if strings.Contains(message, raw) {
				t.Errorf("%s: %q speaks Go: %s", c.Name, message, raw)
			}
		}
		fmt.Fprintf(&out, "%s\n\t%s\n", c.Name, message)
	}
	const file = "testdata/messages.txt"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("go test -run TestMessages -update writes them anew: %s", diff)
	}
}

// TestEveryFaultIsNamed: each with its field, in the order of the record, five at
// most; what is of the wrong type is told once.
func TestEveryFaultIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		record string
		want   string
	}{
		"types and rules together": {
			`{"$type":"computer.socialweb.infra","description":7,"createdAt":"now","contracts":[{"name":"Web"},{"name":"db","state":"on","bidderDids":["did:web:a.example",5,"alice"]}]}`,
			`contracts[0].name: Invalid value: "Web": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'); ` +
				`contracts[0].state: Required value: say what is wanted of the contract: staged, requested or released; ` +
				`contracts[1].bidderDids[1]: Invalid value: 5: must be a string, not a number; ` +
				`contracts[1].bidderDids[2]: Invalid value: "alice": not a DID: write it like did:plc:ewvi7nxzyoun6zhxrhs64oiz or did:web:example.com; ` +
				`contracts[1].state: Unsupported value: "on": supported values: "staged", "requested", "released"; and 2 more`,
		},
		"rules alone": {
			`{"$type":"computer.socialweb.infra","contracts":[{"name":"a","state":"staged"},{"name":"a","state":"requested","bidderDids":["did:web:a.example"],"denyBidderDids":["did:web:a.example"]}]}`,
			`contracts[1].denyBidderDids[0]: Invalid value: "did:web:a.example": is in bidderDids too: a bidder is either considered or refused, remove it from one of the lists; ` +
				`contracts[1].name: Duplicate value: "a"`,
		},
		"items by number": {
			`{"$type":"computer.socialweb.infra","contracts":[0,1,{"name":"c","state":"staged"},3,4,5,6,7,8,9,10]}`,
			`contracts[0]: Invalid value: 0: must be an object with a name and a state, not a number; ` +
				`contracts[1]: Invalid value: 1: must be an object with a name and a state, not a number; ` +
				`contracts[3]: Invalid value: 3: must be an object with a name and a state, not a number; ` +
				`contracts[4]: Invalid value: 4: must be an object with a name and a state, not a number; ` +
				`contracts[5]: Invalid value: 5: must be an object with a name and a state, not a number; and 5 more`,
		},
		"no number that the API could hold": {
			`{"$type":"computer.socialweb.ephemeralInfra","ttlSeconds":9007199254740991,"endWhen":[],"contracts":[]}`,
			`endWhen: Invalid value: must be a string, not a list; ttlSeconds: Invalid value: 9007199254740991: is out of all bounds: give the time in seconds`,
		},
		"the wrong type alone": {
			`{"$type":"app.bsky.feed.post","contracts":5,"description":5}`,
			`$type: Invalid value: "app.bsky.feed.post": must be "computer.socialweb.infra"`,
		},
		"no type": {`{"contracts":[]}`, `$type: Invalid value: must be "computer.socialweb.infra"`},
	} {
		t.Run(name, func(t *testing.T) {
			m := Infra()
			if strings.Contains(c.record, "ephemeralInfra") {
				m = EphemeralInfra()
			}
			if diff := cmp.Diff(c.want, refusal(t, m, parse(t, c.record))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFaultsAreBounded: neither a huge record nor a huge value makes a huge
// message, and keys and user data are never repeated.
func TestFaultsAreBounded(t *testing.T) {
	const secret = "hunter2"
	huge := strings.Repeat("ä", 100_000)
	contract := map[string]any{
		"name": huge, "state": huge, "vmName": huge, "bidderDids": []any{huge, huge}, "policyArgs": []any{huge},
		"sshAuthorizedKeys": []any{secret, map[string]any{"key": secret}}, "userData": []any{secret},
	}
	list := make([]any, 0, 100)
	for range 100 {
		list = append(list, contract)
	}
	for _, contracts := range []any{list, list[:1], huge, []any{map[string]any{
		"name": "a", "state": "staged", "sshAuthorizedKeys": secret, "userData": int64(5),
	}}} {
		message := refusal(t, Infra(), map[string]any{"$type": "computer.socialweb.infra", "contracts": contracts, "description": huge})
		if len(message) > (maxFault+100)*maxFaults {
			t.Errorf("%d bytes", len(message))
		}
		if strings.Contains(message, secret) {
			t.Errorf("it is repeated: %s", message)
		}
	}
}
