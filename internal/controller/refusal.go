package controller

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// refusalsOf is the refusal that an error is; none where it isn't one. What a proxy says in
// an API's place, an outage, a conflict and a limit of rates are none: they pass, or are
// for the operator.
func refusalsOf(do lifecycle.Verb, contract string, err error) []lifecycle.Refusal {
	var said apierrors.APIStatus
	if !errors.As(err, &said) || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return nil
	}
	s := said.Status()
	reason := refusalReason(s.Code, s.Message)
	if reason == "" {
		return nil
	}
	return []lifecycle.Refusal{{Do: do, Contract: contract, Reason: reason, Text: s.Message}}
}

// refusalReason of an answer; "": it is no refusal. A quota, a webhook and a policy are
// told by the words that Kubernetes has for them: their codes are others', or any.
func refusalReason(code int32, text string) string {
	says := func(words string) bool { return strings.Contains(text, words) }
	switch {
	case says("failed calling webhook"):
		return v1alpha1.ReasonWebhookFailed
	case says("denied the request"), says("denied request: "):
		return v1alpha1.ReasonDenied
	case code == http.StatusForbidden && says("exceeded quota: "):
		return v1alpha1.ReasonQuotaExceeded
	case code == http.StatusForbidden, code == http.StatusUnauthorized:
		return v1alpha1.ReasonForbidden
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, code == http.StatusUnprocessableEntity:
		return v1alpha1.ReasonInvalid
	}
	return ""
}
