//go:build e2e

package observability

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"socialweb.computer/infra-apiserver/pkg/registry"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// events of an audit log that match.
func events(t *testing.T, log string, match func(auditv1.Event) bool) (out []auditv1.Event) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(plane.Dir(), log))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var e auditv1.Event
		if err := json.Unmarshal(line, &e); err != nil {
			continue // the last line, half written
		}
		if match(e) {
			out = append(out, e)
		}
	}
	return out
}

func stages(all []auditv1.Event) (out []auditv1.Stage) {
	for _, e := range all {
		out = append(out, e.Stage)
	}
	return out
}

// TestAuditOfOneRequest: what a user asks kube-apiserver is one event a stage there
// and one here, of the same user, verb and object, under one ID.
func TestAuditOfOneRequest(t *testing.T) {
	t.Parallel()
	user := "auditor-" + harness.Name(t)
	k := plane.KubectlAs(t, user, "system:masters")
	name := harness.Name(t)
	k.RunIn(t, `{"apiVersion":"socialweb.computer/v1alpha1","kind":"Infra","metadata":{"name":"`+name+`"},"spec":{"description":"x"}}`, "create", "-f", "-")
	k.Run(t, "patch", "infra", name, "--type=merge", "-p", `{"spec":{"description":"y"}}`)
	k.Run(t, "delete", "infra", name)
	both := []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseComplete}
	for _, verb := range []string{"create", "patch", "delete"} {
		asked := func(e auditv1.Event) bool {
			return e.User.Username == user && e.Verb == verb && e.ObjectRef != nil && e.ObjectRef.Resource == "infras"
		}
		there, here := events(t, kubeAudit, asked), events(t, ourAudit, asked)
		if !slices.Equal(stages(there), both) || !slices.Equal(stages(here), both) {
			t.Errorf("%s: stages %v at kube-apiserver, %v here", verb, stages(there), stages(here))
			continue
		}
		ids := map[types.UID]bool{}
		for _, e := range slices.Concat(there, here) {
			ids[e.AuditID] = true
		}
		done := here[1]
		if len(ids) != 1 || done.ObjectRef.Name != name || done.ObjectRef.APIGroup != "socialweb.computer" || done.ResponseStatus.Code >= 300 {
			t.Errorf("%s: IDs %v, event %+v of %+v", verb, ids, done, done.ObjectRef)
		}
	}
}

// TestAuditOfADirectRequest: what comes straight to the server is in its log alone,
// with the name that it generated.
func TestAuditOfADirectRequest(t *testing.T) {
	t.Parallel()
	user := "direct-" + harness.Name(t)
	c := harness.NewClients(t, plane.Replicas[0].Direct(plane.ConfigFor(t, user, "system:masters"))).Infra.SocialwebV1alpha1().Infras()
	o := harness.NewInfra("")
	o.GenerateName = "generated-"
	made, err := c.Create(t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(harness.Explain(err))
	}
	if err := c.Delete(t.Context(), made.Name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	asked := func(e auditv1.Event) bool { return e.User.Username == user && e.Verb == "create" }
	here := events(t, ourAudit, asked)
	if len(here) != 2 || here[1].Annotations[registry.GeneratedNameAnnotation] != made.Name {
		t.Errorf("events %+v", here)
	}
	if there := events(t, kubeAudit, asked); len(there) != 0 {
		t.Errorf("kube-apiserver has %+v", there)
	}
}
