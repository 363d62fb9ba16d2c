package controller

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// What is a refusal, and which; everything else passes by itself, or is no answer of the API.
func TestRefusals(t *testing.T) {
	answer := func(code int32, text string) error {
		return fmt.Errorf("wrapped: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: text}})
	}
	for text, c := range map[string]struct {
		err  error
		want string
	}{
		"full":                              {answer(403, "exceeded quota: workspace one"), v1alpha1.ReasonQuotaExceeded},
		"no right":                          {answer(403, `User "x" cannot patch resource`), v1alpha1.ReasonForbidden},
		"nobody":                            {answer(401, "Unauthorized"), v1alpha1.ReasonForbidden},
		"a webhook":                         {answer(400, `admission webhook "x" denied the request: no`), v1alpha1.ReasonDenied},
		"a webhook that says what it likes": {answer(409, `admission webhook "x" denied the request: no`), v1alpha1.ReasonDenied},
		"a policy":                          {answer(422, `"a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`), v1alpha1.ReasonDenied},
		"a webhook that is away":            {answer(500, `Internal error occurred: failed calling webhook "x": dial tcp`), v1alpha1.ReasonWebhookFailed},
		"not valid":                         {apierrors.NewInvalid(contractsKind, "a", nil), v1alpha1.ReasonInvalid},
		"too large":                         {answer(413, "Request entity too large"), v1alpha1.ReasonInvalid},
		"a conflict":                        {answer(409, "Apply failed"), ""},
		"not there":                         {answer(404, "not found"), ""},
		"too often":                         {answer(429, "too many requests"), ""},
		"an outage":                         {answer(503, "away"), ""},
		"a timeout":                         {answer(504, "timeout"), ""},
		"a proxy":                           {apierrors.NewGenericServerResponse(http.StatusForbidden, "patch", contractsResource, "a", "<html>", 0, true), ""},
		"no answer":                         {errors.New("dial tcp: refused"), ""},
	} {
		got := refusalsOf(lifecycle.Create, "front", c.err)
		switch {
		case c.want == "" && len(got) == 0:
		case len(got) != 1 || got[0].Reason != c.want || got[0].Do != lifecycle.Create || got[0].Contract != "front" || got[0].Text == "":
			t.Errorf("%s: %+v, want %q", text, got, c.want)
		}
	}
}
