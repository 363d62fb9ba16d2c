package kubectl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/internal/testkubectl"
	"socialweb.computer/infra-apiserver/internal/testpds"
	"socialweb.computer/infra-apiserver/internal/testwait"
)

// env is one server with its PDS, for all cases.
type env struct {
	// Repo is the default repository, past the server.
	Repo *atproto.Client
	k    *testkubectl.Kubectl
}

// cases run one after the other; each uses names of its own and leaves nothing
// behind that another would see.
var cases = []struct {
	name string
	run  func(*testing.T, env)
}{
	{"create, get, list", testCreateGetList},
	{"output formats", testFormats},
	{"table", testTable},
	{"client-side apply and diff", testApply},
	{"server-side apply", testServerSideApply},
	{"contracts by name", testContracts},
	{"patch", testPatch},
	{"edit and replace", testEditReplace},
	{"label and annotate", testLabelAnnotate},
	{"generation", testGeneration},
	{"selectors", testSelectors},
	{"dry run", testDryRun},
	{"wait", testWait},
	{"watch", testWatch},
	{"status", testStatus},
	{"delete", testDelete},
	{"explain", testExplain},
	{"validation", testValidation},
	{"kinds without a record", testPlainKinds},
	{"foreign edits", testForeignEdits},
	{"plugin", testPlugin},
}

// servers are what the cases run on, by name. With the build tag e2e it is a real
// control plane instead.
var servers = map[string]func(*testing.T) env{
	"embedded PDS": func(t *testing.T) env { return onDev(t, nil) },
	"reference PDS": func(t *testing.T) env {
		return onDev(t, testpds.StartReference(t, testpds.Options{}))
	},
}

func onDev(t *testing.T, pds *testpds.Server) env {
	t.Helper()
	d := testdev.Start(t, testdev.Options{PDS: pds})
	return env{d.Repo, d.Kubectl(t)}
}

func TestKubectl(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			e := start(t)
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) { c.run(t, e) })
			}
		})
	}
}

const collection = "computer.socialweb.infra"

// manifest of an Infra with one contract.
func manifest(name, description string) string {
	return `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"` + name + `"},
"spec":{"description":"` + description + `","contracts":[{"name":"web","state":"Staged"}]}}`
}

// record reads the record of an Infra, past the server; nil: there is none.
func (e env) record(t *testing.T, name string) map[string]any {
	t.Helper()
	r, _, err := e.Repo.ProveRecord(t.Context(), atproto.Key{Collection: collection, RKey: name})
	if err != nil {
		t.Fatal(err)
	}
	if r == nil {
		return nil
	}
	return r.Value
}

// rev is the repository's latest revision: it moves with every commit.
func (e env) rev(t *testing.T) string {
	t.Helper()
	c, err := e.Repo.LatestCommit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c.Rev
}

// field reads one field of an Infra by JSON path.
func (e env) field(t *testing.T, name, path string) string {
	t.Helper()
	return e.k.Run(t, "get", "infra", name, "-o", "jsonpath={"+path+"}")
}

// create makes an Infra and removes it at the test's end.
func (e env) create(t *testing.T, name string) {
	t.Helper()
	e.k.RunIn(t, manifest(name, "of "+name), "create", "-f", "-")
	t.Cleanup(func() { e.remove(t, name) })
}

// settle waits until the server has nothing left to write to an Infra's record, nor the
// status that it shows, so that what moves after it was moved by the test.
func (e env) settle(t *testing.T, name string) {
	t.Helper()
	testwait.Until(t, name+" to be in sync", func() error {
		now := e.k.Run(t, "get", "infra", name, "-o", "jsonpath={.status.record.direction} {.status.record.cid} {.status.phase}")
		r, _, err := e.Repo.ProveRecord(t.Context(), atproto.Key{Collection: collection, RKey: name})
		if err != nil {
			return err
		}
		if r == nil {
			return errors.New("there is no record")
		}
		status, _ := r.Value["status"].(map[string]any)
		phase, _ := status["phase"].(string)
		if want := strings.TrimSpace("InSync " + r.CID + " " + phase); !strings.EqualFold(strings.TrimSpace(now), want) {
			return fmt.Errorf("it is %s, the record %s", now, want)
		}
		return nil
	})
}

func (e env) remove(t *testing.T, name string) {
	t.Helper()
	e.k.Run(t, "delete", "infra", name, "--ignore-not-found")
}
