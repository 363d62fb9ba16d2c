package validation

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

func TestValidateAtprotoRepoCreate(t *testing.T) {
	type spec = socialweb.AtprotoRepoSpec
	cases := []struct {
		name   string
		change func(*spec)
		kind   field.ErrorType
		path   string
	}{
		{"as it is", func(*spec) {}, "", ""},
		{"handle only", func(s *spec) { s.DID = "" }, "", ""},
		{"did only", func(s *spec) { s.Handle = "" }, "", ""},
		{"no account", func(s *spec) { s.DID, s.Handle = "", "" }, field.ErrorTypeRequired, "spec.did"},
		{"did a handle", func(s *spec) { s.DID = "alice.example.com" }, field.ErrorTypeInvalid, "spec.did"},
		{"did of another method", func(s *spec) { s.DID = "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme" }, field.ErrorTypeInvalid, "spec.did"},
		{"did of a host", func(s *spec) { s.DID = "did:web:alice.example.com" }, "", ""},
		{"handle with @", func(s *spec) { s.Handle = "@alice.example.com" }, field.ErrorTypeInvalid, "spec.handle"},
		{"handle one word", func(s *spec) { s.Handle = "alice" }, field.ErrorTypeInvalid, "spec.handle"},
		{"handle that says it is none", func(s *spec) { s.Handle = "handle.invalid" }, field.ErrorTypeInvalid, "spec.handle"},
		{"pds from the DID document", func(s *spec) { s.PDS = "" }, "", ""},
		{"pds on loopback", func(s *spec) { s.PDS = "http://127.0.0.1:2583/" }, "", ""},
		{"pds a host", func(s *spec) { s.PDS = "pds.example.com" }, field.ErrorTypeInvalid, "spec.pds"},
		{"pds a file", func(s *spec) { s.PDS = "file:///etc/passwd" }, field.ErrorTypeInvalid, "spec.pds"},
		{"pds without a host", func(s *spec) { s.PDS = "https://:443" }, field.ErrorTypeInvalid, "spec.pds"},
		{"pds with a path", func(s *spec) { s.PDS = "https://pds.example.com/xrpc" }, field.ErrorTypeInvalid, "spec.pds"},
		{"pds with a port that is none", func(s *spec) { s.PDS = "https://pds.example.com:77777" }, field.ErrorTypeInvalid, "spec.pds"},
		{"pds with a query", func(s *spec) { s.PDS = "https://pds.example.com?a=b" }, field.ErrorTypeInvalid, "spec.pds"},
		{"pds with a password", func(s *spec) { s.PDS = "https://alice:hunter2@pds.example.com" }, field.ErrorTypeInvalid, "spec.pds"},
		{"pds too long", func(s *spec) { s.PDS = "https://" + long(2048) }, field.ErrorTypeTooLong, "spec.pds"},
		{"pds no URL", func(s *spec) { s.PDS = "https://[::1" }, field.ErrorTypeInvalid, "spec.pds"},
		{"anonymous", func(s *spec) { s.CredentialsRef, s.Access = nil, socialweb.AccessRead }, "", ""},
		{"credentials without a name", func(s *spec) { s.CredentialsRef = &socialweb.CredentialsReference{} }, field.ErrorTypeRequired, "spec.credentialsRef.name"},
		{"credentials a path", func(s *spec) { s.CredentialsRef = &socialweb.CredentialsReference{Name: "../../etc/passwd"} }, field.ErrorTypeInvalid, "spec.credentialsRef.name"},
		{"no access", func(s *spec) { s.Access = socialweb.AccessNone }, "", ""},
		{"unknown access", func(s *spec) { s.Access = "Write" }, field.ErrorTypeNotSupported, "spec.access"},
		{"unknown event source", func(s *spec) { s.EventSource = "Webhook" }, field.ErrorTypeNotSupported, "spec.eventSource"},
		{"unknown staleReads", func(s *spec) { s.StaleReads = "Maybe" }, field.ErrorTypeNotSupported, "spec.staleReads"},
		{"observes only", func(s *spec) { s.Execution = socialweb.ExecutionObserveOnly }, "", ""},
		{"unknown execution", func(s *spec) { s.Execution = "Always" }, field.ErrorTypeNotSupported, "spec.execution"},
		{"jetstream", func(s *spec) {
			s.EventSource, s.JetstreamURL = socialweb.EventSourceJetstream, "wss://jet.example.com:6008/"
		}, "", ""},
		{"jetstream with a path", func(s *spec) {
			s.EventSource, s.JetstreamURL = socialweb.EventSourceJetstream, "wss://jet.example.com/subscribe"
		}, field.ErrorTypeInvalid, "spec.jetstreamURL"},
		{"jetstream of the server", func(s *spec) { s.EventSource = socialweb.EventSourceJetstream }, "", ""},
		{"jetstream over https", func(s *spec) {
			s.EventSource, s.JetstreamURL = socialweb.EventSourceJetstream, "https://jet.example.com"
		}, field.ErrorTypeInvalid, "spec.jetstreamURL"},
		{"jetstream of a firehose", func(s *spec) { s.JetstreamURL = "wss://jet.example.com" }, field.ErrorTypeForbidden, "spec.jetstreamURL"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			repo := newRepo(t)
			tc.change(&repo.Spec)
			errs := ValidateAtprotoRepoCreate(repo)
			want(t, errs, tc.kind, tc.path)
			if len(errs) > 0 && strings.Contains(errs.ToAggregate().Error(), "hunter2") {
				t.Errorf("the error repeats a password: %v", errs)
			}
		})
	}
}

func TestValidateAtprotoRepoUpdate(t *testing.T) {
	type repo = socialweb.AtprotoRepo
	cases := []struct {
		name     string
		old, now func(*repo)
		kind     field.ErrorType
		path     string
	}{
		{"nothing", nil, nil, "", ""},
		{"access withdrawn", nil, func(r *repo) { r.Spec.Access = socialweb.AccessNone }, "", ""},
		{"pds moved", nil, func(r *repo) { r.Spec.PDS = "https://new.example.com" }, "", ""},
		{"handle changed beside a did", nil, func(r *repo) { r.Spec.Handle = "bob.example.com" }, "", ""},
		{"did changed", nil, func(r *repo) { r.Spec.DID = bob }, field.ErrorTypeInvalid, "spec.did"},
		{"did removed", nil, func(r *repo) { r.Spec.DID = "" }, field.ErrorTypeInvalid, "spec.did"},
		{"handle changed without a did", func(r *repo) { r.Spec.DID = "" }, func(r *repo) { r.Spec.DID, r.Spec.Handle = "", "bob.example.com" }, field.ErrorTypeInvalid, "spec.handle"},
		{"did written down", func(r *repo) { r.Spec.DID, r.Status.DID = "", alice }, nil, "", ""},
		{"did of another account", func(r *repo) { r.Spec.DID, r.Status.DID = "", bob }, nil, field.ErrorTypeInvalid, "spec.did"},
		{"invalid access", nil, func(r *repo) { r.Spec.Access = "" }, field.ErrorTypeNotSupported, "spec.access"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			old, now := newRepo(t), newRepo(t)
			if tc.old != nil {
				tc.old(old)
			}
			if tc.now != nil {
				tc.now(now)
			}
			want(t, ValidateAtprotoRepoUpdate(now, old), tc.kind, tc.path)
		})
	}
}

func TestValidateAtprotoRepoStatusUpdate(t *testing.T) {
	lag := int64(-1)
	type status = socialweb.AtprotoRepoStatus
	cases := []struct {
		name   string
		change func(*status)
		kind   field.ErrorType
		path   string
	}{
		{"empty", func(*status) {}, "", ""},
		{"full", func(s *status) {
			*s = status{ObservedGeneration: 1, DID: alice, Handle: "handle.invalid", PDS: "https://pds.example.com", Rev: "3jzfcijpj2z2a", IngestedRev: "3jzfcijpj2z2a", Access: socialweb.AccessRead}
		}, "", ""},
		{"negative generation", func(s *status) { s.ObservedGeneration = -1 }, field.ErrorTypeInvalid, "status.observedGeneration"},
		{"did a handle", func(s *status) { s.DID = "alice" }, field.ErrorTypeInvalid, "status.did"},
		{"no rev", func(s *status) { s.Rev = "1" }, field.ErrorTypeInvalid, "status.rev"},
		{"no ingested rev", func(s *status) { s.IngestedRev = "1" }, field.ErrorTypeInvalid, "status.ingestedRev"},
		{"negative lag", func(s *status) { s.LagSeconds = &lag }, field.ErrorTypeInvalid, "status.lagSeconds"},
		{"unknown access", func(s *status) { s.Access = "Write" }, field.ErrorTypeNotSupported, "status.access"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			repo := newRepo(t)
			tc.change(&repo.Status)
			want(t, ValidateAtprotoRepoStatusUpdate(repo, newRepo(t)), tc.kind, tc.path)
		})
	}
}
