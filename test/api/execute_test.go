package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/testhttp"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

// userHeader names the user of a request to a server with users.
const userHeader = "X-Test-User"

// allButExecute allows everything, and the verb execute to the user "owner" alone.
type allButExecute struct{ authorizer.Authorizer }

func (a allButExecute) Authorize(ctx context.Context, attrs authorizer.Attributes) (authorizer.Decision, string, error) {
	if attrs.GetVerb() == "execute" && attrs.GetUser().GetName() != "owner" {
		return authorizer.DecisionNoOpinion, "no rule allows it", nil
	}
	return a.Authorizer.Authorize(ctx, attrs)
}

// newServerWithUsers starts a server that believes userHeader.
func newServerWithUsers(t *testing.T) *server {
	t.Helper()
	return newServerWith(t, onEmbedded(t).pds.PLCURL, func(o *apiserver.Options) {
		inner := o.Modify
		o.Modify = func(c *genericapiserver.RecommendedConfig) error {
			if err := inner(c); err != nil {
				return err
			}
			anonymous := c.Authentication.Authenticator
			c.Authentication.Authenticator = authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
				if name := r.Header.Get(userHeader); name != "" {
					return &authenticator.Response{User: &user.DefaultInfo{Name: name}}, true, nil
				}
				return anonymous.AuthenticateRequest(r)
			})
			c.Authorization.Authorizer = allButExecute{c.Authorization.Authorizer}
			return nil
		}
	})
}

// caller sends requests as one user.
type caller struct {
	testhttp.Client
	name string
}

func (s *server) as(t *testing.T, name string) caller {
	t.Helper()
	client, err := rest.HTTPClientFor(rest.AnonymousClientConfig(s.config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return caller{testhttp.Client{HTTP: client, Server: s.config.Host}, name}
}

// send returns the answer's code and text.
func (c caller) send(t *testing.T, method, path, kind, body string) (code int, text string) {
	t.Helper()
	a, err := c.Do(t.Context(), testhttp.Request{
		Method: method, Path: path, Accept: testhttp.JSON, Kind: kind, Body: body, Header: http.Header{userHeader: {c.name}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.Status, string(a.Body)
}

// followed are the kinds that have spec.execution, each with the rest of a spec whose
// repository can't be written, and one whose can.
var followed = map[string]struct{ readonly, writable string }{
	"AtprotoRepo": {
		`"did":"did:plc:aaaaaaaaaaaaaaaaaaaaaaaa","access":"None"`,
		`"did":"did:plc:aaaaaaaaaaaaaaaaaaaaaaaa","access":"ReadWrite","credentialsRef":{"name":"none"}`,
	},
	"InfraCollection":          {`"repoRef":{"name":"none"}`, `"repoRef":{"name":"writable"}`},
	"EphemeralInfraCollection": {`"repoRef":{"name":"none"}`, `"repoRef":{"name":"writable"}`},
}

// TestFollowNeedsExecute: whoever lacks the verb execute can't have the records of a
// repository run that can't be written, by no kind of write; whoever has it grants it
// until the word or the repository changes.
func TestFollowNeedsExecute(t *testing.T) {
	t.Parallel()
	s := newServerWithUsers(t)
	editor, owner := s.as(t, "editor"), s.as(t, "owner")
	if code, text := editor.send(t, http.MethodPost, resources["AtprotoRepo"], "application/json",
		`{"apiVersion":"socialweb.computer/v1alpha1","kind":"AtprotoRepo","metadata":{"name":"writable"},"spec":{`+followed["AtprotoRepo"].writable+`}}`); code != http.StatusCreated {
		t.Fatalf("the writable one: %d %s", code, text)
	}
	for kind, specs := range followed {
		path := resources[kind]
		at := path + "/a"
		manifest := func(name, spec string) string {
			return fmt.Sprintf(`{"apiVersion":"socialweb.computer/v1alpha1","kind":%q,"metadata":{"name":%q},"spec":{%s}}`, kind, name, spec)
		}
		resource := path[strings.LastIndexByte(path, '/')+1:]
		refused := func(what string, c caller, method, path, content, body string) {
			t.Helper()
			code, text := c.send(t, method, path, content, body)
			if code != http.StatusForbidden || contains(text, `\"execute\"`, resource+".socialweb.computer", `\"a\"`, "ObserveOnly") != nil {
				t.Errorf("%s, %s: %d %s, want 403", kind, what, code, text)
			}
		}
		// granted is what the object says after a request that must succeed.
		granted := func(what string, c caller, method, path, content, body string) bool {
			t.Helper()
			code, text := c.send(t, method, path, content, body)
			if code >= 300 {
				t.Fatalf("%s, %s: %d %s", kind, what, code, text)
			}
			status, _ := decode[record](t, text)["status"].(record)
			is, _ := status["executeGranted"].(bool)
			return is
		}
		expect := func(what string, want bool, c caller, method, path, content, body string) {
			t.Helper()
			if got := granted(what, c, method, path, content, body); got != want {
				t.Errorf("%s, %s: granted %t", kind, what, got)
			}
		}
		const json, jsonPatch, follow = "application/json", "application/json-patch+json", `{"spec":{"execution":"Follow"}}`
		following := specs.readonly + `,"execution":"Follow"`
		refused("create", editor, http.MethodPost, path, json, manifest("a", following))
		refused("create, dry run", editor, http.MethodPost, path+"?dryRun=All", json, manifest("a", following))
		refused("apply of nothing", editor, http.MethodPatch, at+"?fieldManager=m", applyPatch, manifest("a", following))
		expect("create without a word", false, editor, http.MethodPost, path, json, manifest("a", specs.readonly))

		refused("merge patch", editor, http.MethodPatch, at, mergePatch, follow)
		refused("merge patch, dry run", editor, http.MethodPatch, at+"?dryRun=All", mergePatch, follow)
		refused("JSON patch", editor, http.MethodPatch, at, jsonPatch, `[{"op":"add","path":"/spec/execution","value":"Follow"}]`)
		refused("apply", editor, http.MethodPatch, at+"?fieldManager=m&force=true", applyPatch, manifest("a", following))
		waitFor(t, "an update of what is there", func() error { // the server writes statuses meanwhile
			_, text := editor.send(t, http.MethodGet, at, json, "")
			now := decode[record](t, text)
			now["spec"].(record)["execution"] = "Follow"
			if code, text := editor.send(t, http.MethodPut, at, json, encode(t, now)); code == http.StatusConflict {
				return errors.New(text)
			} else if code != http.StatusForbidden {
				t.Errorf("%s, update: %d %s, want 403", kind, code, text)
			}
			return nil
		})
		refused("by the path of a workspace", owner, http.MethodPatch, "/clusters/default"+at, mergePatch, follow)

		expect("who may, dry run", true, owner, http.MethodPatch, at+"?dryRun=All", mergePatch, follow)
		expect("afterwards", false, editor, http.MethodGet, at, json, "")
		expect("who may", true, owner, http.MethodPatch, at, mergePatch, follow)
		expect("a label of who may not", true, editor, http.MethodPatch, at, mergePatch, `{"metadata":{"labels":{"a":"b"}}}`)
		expect("a status", true, owner, http.MethodPatch, at+"/status", mergePatch, `{"status":{"executeGranted":false}}`)
		expect("an apply of the same", true, editor, http.MethodPatch, at+"?fieldManager=m&force=true", applyPatch, manifest("a", following))
		expect("away", false, editor, http.MethodPatch, at, mergePatch, `{"spec":{"execution":"ObserveOnly"}}`)
		expect("a status that grants", false, owner, http.MethodPatch, at+"/status", mergePatch, `{"status":{"executeGranted":true}}`)
		refused("and back", editor, http.MethodPatch, at, mergePatch, follow)

		w := specs.writable + `,"execution":"Follow"`
		expect("of a repository that can be written", false, editor, http.MethodPost, path+"?dryRun=All", json, manifest("w", w))
		expect("the same by who may", true, owner, http.MethodPost, path+"?dryRun=All", json, manifest("w", w))
	}
}

// TestServedElsewhere: without the kind ComputeContract, the group has it neither in
// discovery nor in OpenAPI, and is as it was otherwise.
func TestServedElsewhere(t *testing.T) {
	t.Parallel()
	a := onEmbedded(t)
	e := &env{server: newServerWith(t, a.pds.PLCURL, func(o *apiserver.Options) { o.ComputeContracts = false }), account: a, proxy: newProxy(t, a)}
	e.mount(t)
	const name = "omputecontract"
	for _, path := range []string{groupPath, "/apis", "/openapi/v2", "/openapi/v3" + groupPath} {
		for _, accept := range []string{"application/json", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"} {
			if path != "/apis" && accept != "application/json" {
				continue
			}
			if got := e.must(t, request{path: path, accept: accept}).body; strings.Contains(got, "C"+name+"s") || strings.Contains(got, "c"+name+"s") {
				t.Errorf("%s has it", path)
			}
		}
	}
	if schemas := e.must(t, request{path: "/openapi/v3" + groupPath}).body; strings.Contains(schemas, "v1alpha1.ComputeContract") || !strings.Contains(schemas, "v1alpha1.InfraCollection") {
		t.Error("the schemas have it, or lack another")
	}
	if a := e.do(t, request{path: resources["ComputeContract"]}); a.status != http.StatusNotFound {
		t.Errorf("LIST: %d %s", a.status, a.body)
	}
	e.create(t, newInfra("a", "x"))
	e.setPhase(t, "a", v1alpha1.PhaseStaged)
	if r := e.apply(t, "b", "", "m", false, `},"spec":{"description":"two"}}`); r.status != http.StatusCreated {
		t.Errorf("apply: %d %s", r.status, r.body)
	}
}
