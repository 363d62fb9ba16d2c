package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/internal/controller"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

// control runs a companion controller of all workspaces of s. It is no more than any
// user: limits hold for it.
func (s *server) control(t *testing.T) {
	t.Helper()
	c, err := controller.New(controller.Config{Server: rest.AnonymousClientConfig(s.config), Workspaces: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// asUser is one workspace of s to somebody who isn't the server itself.
func (s *server) asUser(t *testing.T, workspace string) *server {
	t.Helper()
	out := *s
	out.config = rest.AnonymousClientConfig(s.config)
	out.config.Host += "/clusters/" + workspace
	var err error
	if out.http, err = rest.HTTPClientFor(out.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.http.CloseIdleConnections)
	return &out
}

// inPhase waits until the only contract of an Infra is in a phase, and its creation is
// refused for a reason; "": for none.
func (e *env) inPhase(t *testing.T, name string, phase v1alpha1.ContractPhase, refused string) (out *v1alpha1.Infra) {
	t.Helper()
	waitFor(t, fmt.Sprintf("%s %s %s", name, phase, refused), func() error {
		out = e.infra(t, name)
		reason := ""
		if c := meta.FindStatusCondition(out.Status.Conditions, v1alpha1.ConditionContractsAdmitted); c != nil {
			reason = c.Reason
		}
		if len(out.Status.Contracts) != 1 || out.Status.Contracts[0].Phase != phase || reason != refused {
			return fmt.Errorf("%+v", out.Status)
		}
		return nil
	})
	return out
}

// TestDeploymentInAFullWorkspace: where there is no room for its ComputeContract a
// deployment says so, once; it goes on as soon as there is some. And where the workspace
// is beyond its bytes it gets its finalizer, is released, and goes.
func TestDeploymentInAFullWorkspace(t *testing.T) {
	t.Parallel()
	const ws = "crowded"
	a := embedded(t, "alice")[0]
	s := newServerWith(t, a.pds.PLCURL, func(o *apiserver.Options) { o.Quota = &apiserver.QuotaOptions{MaxObjects: 3, MaxBytes: "48Ki"} })
	s.control(t)
	e := &env{server: s.workspace(t, ws), account: a, proxy: newProxy(t, a)}
	e.credential(t, ws, repoName, a.DID, a.Password)
	e.mount(t)
	user := s.asUser(t, ws)
	e.create(t, newInfra("other", "x"))
	e.create(t, newInfra("web", "x"))
	user.counted(t, "three objects", request{method: http.MethodPost, path: infras, body: manifest("more", "x")})
	e.change(t, "web", func(i *v1alpha1.Infra) { i.Spec.Contracts[0].State = v1alpha1.ContractRequested })

	web := e.inPhase(t, "web", v1alpha1.ContractPhaseRequesting, v1alpha1.ReasonQuotaExceeded)
	c := meta.FindStatusCondition(web.Status.Conditions, v1alpha1.ConditionContractsAdmitted)
	if c.Status != metav1.ConditionFalse || !strings.HasPrefix(c.Message, `creation refused: web: computecontracts.socialweb.computer "infra-web-web" is forbidden: exceeded quota: workspace `+ws+`, requested: objects=1, `) {
		t.Errorf("%+v", c)
	}
	tries := refusals(ws, "objects")
	waitFor(t, "more tries", func() error {
		if refusals(ws, "objects") < tries+3 {
			return errors.New("it isn't tried again")
		}
		return nil
	})
	if now := meta.FindStatusCondition(e.infra(t, "web").Status.Conditions, v1alpha1.ConditionContractsAdmitted); *now != *c {
		t.Errorf("%+v, was %+v", now, c)
	}
	waitFor(t, "the record's status", func() error { return contains(a.raw(t, "web"), `"requesting"`) })
	if told := a.raw(t, "web"); strings.Contains(told, "quota") {
		t.Errorf("the record tells of it: %s", told)
	}
	e.must(t, request{method: http.MethodDelete, path: infras + "/other"})
	e.inPhase(t, "web", v1alpha1.ContractPhaseRequesting, "")

	waitFor(t, "a status of many bytes", func() error {
		now := e.infra(t, "web")
		now.Status.Conditions = append(now.Status.Conditions, metav1.Condition{
			Type: "Big", Status: metav1.ConditionTrue, Reason: "Big", Message: strings.Repeat("z", 30_000), LastTransitionTime: metav1.Now(),
		}, metav1.Condition{
			Type: "Bigger", Status: metav1.ConditionTrue, Reason: "Big", Message: strings.Repeat("z", 30_000), LastTransitionTime: metav1.Now(),
		})
		_, err := e.client.Infras().UpdateStatus(t.Context(), now, metav1.UpdateOptions{})
		return err
	})
	update := func(body string) request {
		return request{method: http.MethodPatch, path: infras + "/web", kind: mergePatch, body: body}
	}
	patch := func(body string) answer { return user.do(t, update(body)) }
	const label = `{"metadata":{"labels":{"a":"b"}}}`
	user.counted(t, "the status", update(label))
	refusedBy(t, "a label", patch(label), "bytes", ws)
	if a := patch(`{"metadata":{"finalizers":null}}`); a.status != http.StatusOK {
		t.Errorf("its finalizer's end: %d %s", a.status, a.body)
	}
	waitFor(t, "its finalizer", func() error {
		if f := e.infra(t, "web").Finalizers; len(f) != 1 || f[0] != v1alpha1.FinalizerRelease {
			return fmt.Errorf("finalizers %q", f)
		}
		return nil
	})
	if a := patch(`{"spec":{"contracts":[{"name":"web","state":"Released"}]}}`); a.status != http.StatusOK {
		t.Errorf("its release: %d %s", a.status, a.body)
	}
	e.inPhase(t, "web", v1alpha1.ContractPhaseReleased, "")
	if a := user.do(t, request{method: http.MethodDelete, path: infras + "/web"}); a.status != http.StatusOK {
		t.Errorf("its deletion: %d %s", a.status, a.body)
	}
	waitFor(t, "its end", func() error {
		if a := e.do(t, request{path: infras + "/web"}); a.status != http.StatusNotFound {
			return fmt.Errorf("%d %s", a.status, a.body)
		}
		return nil
	})
}
