//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/test/e2e/harness"
)

// A validating webhook is called for every verb, and what it says reaches the client.
func TestValidatingWebhookIsCalled(t *testing.T) {
	t.Parallel()
	a := newAdmitted(t)
	w := startWebhook(t, func(r *admissionv1.AdmissionRequest, o *v1alpha1.Infra) *admissionv1.AdmissionResponse {
		asked := o.Spec.Description
		if r.SubResource == "status" {
			asked = strings.ReplaceAll(string(o.Status.Phase), string(v1alpha1.PhaseDegraded), "denied")
		}
		if asked != "denied" {
			return &admissionv1.AdmissionResponse{Allowed: true}
		}
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "the webhook " + a.label + " says no", Code: http.StatusForbidden}}
	})
	c := plane.Admin().Core.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := c.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: a.label},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validating.e2e.test", ClientConfig: w.config(), ObjectSelector: a.selector(),
			Rules: []admissionregistrationv1.RuleWithOperations{everything()}, FailurePolicy: ptr.To(admissionregistrationv1.Fail),
			SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context()), a.label, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	a.inForce(t, "says no")
	a.deniesEveryVerb(t, "the webhook "+a.label+" says no")
	w.wasAsked(t, "CREATE", "UPDATE", "UPDATE status", "DELETE")
}

// What a mutating webhook adds is stored, for every verb that has an object.
func TestMutatingWebhookIsCalled(t *testing.T) {
	t.Parallel()
	a := newAdmitted(t)
	w := startWebhook(t, func(r *admissionv1.AdmissionRequest, o *v1alpha1.Infra) *admissionv1.AdmissionResponse {
		patch := fmt.Sprintf(`[{"op":"add","path":"/metadata/labels/mutated","value":%q}]`, o.Spec.Description)
		switch {
		case o.Spec.Description == "denied": // by inForce
			return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "in force"}}
		case r.Operation == admissionv1.Delete:
			return &admissionv1.AdmissionResponse{Allowed: true}
		case r.SubResource == "status":
			patch = fmt.Sprintf(`[{"op":"add","path":"/status/observedGeneration","value":%d}]`, len(o.Status.Phase))
		}
		return &admissionv1.AdmissionResponse{Allowed: true, Patch: []byte(patch), PatchType: ptr.To(admissionv1.PatchTypeJSONPatch)}
	})
	c := plane.Admin().Core.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := c.Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: a.label},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mutating.e2e.test", ClientConfig: w.config(), ObjectSelector: a.selector(),
			Rules: []admissionregistrationv1.RuleWithOperations{everything()}, FailurePolicy: ptr.To(admissionregistrationv1.Fail),
			SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context()), a.label, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	a.inForce(t, "in force")
	for i, v := range a.verbs() {
		word, phase := fmt.Sprint("fine-", i), v1alpha1.PhaseDeployed
		if strings.Contains(v.name, "patch of the status") {
			phase = v1alpha1.PhaseStaged
		}
		before := a.list(t, t.Context())
		if err := v.do(t.Context(), word, phase); err != nil {
			t.Errorf("%s: %v", v.name, err)
			continue
		}
		after := a.list(t, t.Context())
		switch {
		case strings.HasPrefix(v.name, "delete"):
			if len(after) != len(before)-1 {
				t.Errorf("%s: %d objects, then %d", v.name, len(before), len(after))
			}
		case strings.Contains(v.name, "status"):
			if !slices.ContainsFunc(after, func(o v1alpha1.Infra) bool {
				return o.Name == a.one && o.Status.Phase == phase && o.Status.ObservedGeneration == int64(len(phase))
			}) {
				t.Errorf("%s: what the webhook adds isn't there:\n%s", v.name, a.state(t))
			}
		default:
			if !slices.ContainsFunc(after, func(o v1alpha1.Infra) bool {
				return strings.HasSuffix(o.Spec.Description, fmt.Sprint("-", i)) && o.Labels["mutated"] == o.Spec.Description
			}) {
				t.Errorf("%s: the webhook's label isn't there:\n%s", v.name, a.state(t))
			}
		}
	}
	w.wasAsked(t, "CREATE", "UPDATE", "UPDATE status", "DELETE")
}

// webhook is an admission webhook that runs in the test.
type webhook struct {
	server    *httptest.Server
	authority []byte

	mu    sync.Mutex
	asked map[string]int // by operation and subresource
}

// startWebhook starts one. review gets the object, or the old one where there is no
// new one.
func startWebhook(t *testing.T, review func(*admissionv1.AdmissionRequest, *v1alpha1.Infra) *admissionv1.AdmissionResponse) *webhook {
	t.Helper()
	authority, err := harness.NewAuthority("webhook")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Serving("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	w := &webhook{authority: authority.PEM, asked: map[string]int{}}
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		var r admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&r); err != nil || r.Request == nil {
			http.Error(rw, fmt.Sprint("no review: ", err), http.StatusBadRequest)
			return
		}
		raw := r.Request.Object.Raw
		if r.Request.Operation == admissionv1.Delete {
			raw = r.Request.OldObject.Raw
		}
		var o v1alpha1.Infra
		if err := json.Unmarshal(raw, &o); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		w.mu.Lock()
		w.asked[strings.TrimSpace(string(r.Request.Operation)+" "+r.Request.SubResource)]++
		w.mu.Unlock()
		r.Response = review(r.Request, &o)
		r.Response.UID = r.Request.UID
		r.Request = nil
		_ = json.NewEncoder(rw).Encode(r) // a client that left is no fault
	}))
	w.server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	return w
}

func (w *webhook) config() admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{URL: &w.server.URL, CABundle: w.authority}
}

func (w *webhook) wasAsked(t *testing.T, what ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, op := range what {
		if w.asked[op] == 0 {
			t.Errorf("the webhook was not asked about %s: %v", op, w.asked)
		}
	}
}
