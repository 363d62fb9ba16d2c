package validation

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

func TestValidateEventSource(t *testing.T) {
	jetstream := func(url string) *socialweb.AtprotoRepo {
		r := newRepo(t)
		r.Spec.EventSource, r.Spec.JetstreamURL = socialweb.EventSourceJetstream, url
		return r
	}
	const url = "wss://jet.example.com"
	cases := []struct {
		name     string
		now, old *socialweb.AtprotoRepo
		server   bool
		refused  bool
	}{
		{"a firehose", newRepo(t), nil, false, false},
		{"with an address", jetstream(url), nil, false, false},
		{"the server's", jetstream(""), nil, true, false},
		{"nobody's", jetstream(""), nil, false, true},
		{"changed to nobody's", jetstream(""), newRepo(t), false, true},
		{"its address removed", jetstream(""), jetstream(url), false, true},
		{"nobody's since the server lost its own", jetstream(""), jetstream(""), false, false},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			errs := ValidateEventSource(tc.now, tc.old, tc.server)
			if !tc.refused {
				want(t, errs, "", "")
				return
			}
			want(t, errs, field.ErrorTypeRequired, "spec.jetstreamURL")
			for _, word := range []string{`"Jetstream"`, "--jetstream-url", "Firehose", "Poll"} {
				if !strings.Contains(errs.ToAggregate().Error(), word) {
					t.Errorf("%v lacks %s", errs, word)
				}
			}
		})
	}
}

func TestAtprotoRepoWarnings(t *testing.T) {
	type spec = socialweb.AtprotoRepoSpec
	for name, tc := range map[string]struct {
		change func(*spec)
		want   []string // what each begins with
	}{
		"as it is":                {func(*spec) {}, nil},
		"nothing to write with":   {func(s *spec) { s.CredentialsRef = nil }, []string{"spec.credentialsRef:"}},
		"read, and meant so":      {func(s *spec) { s.CredentialsRef, s.Access = nil, socialweb.AccessRead }, nil},
		"a default to read":       {func(s *spec) { s.Default, s.Access = true, socialweb.AccessRead }, []string{"spec.access: is Read"}},
		"a default that is away":  {func(s *spec) { s.Default, s.Access = true, socialweb.AccessNone }, []string{"spec.access: is None"}},
		"follows nothing":         {func(s *spec) { s.Execution, s.Access = socialweb.ExecutionFollow, socialweb.AccessNone }, []string{"spec.execution:"}},
		"a password in the clear": {func(s *spec) { s.PDS = "http://pds.example.com" }, []string{"spec.pds:"}},
		"over loopback":           {func(s *spec) { s.PDS = "http://127.0.0.1:2583" }, nil},
		"over this machine":       {func(s *spec) { s.PDS = "http://localhost:2583" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			repo := newRepo(t)
			repo.Spec.Default = false
			tc.change(&repo.Spec)
			got := AtprotoRepoWarnings(&repo.Spec)
			if len(got) != len(tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
			for i, begin := range tc.want {
				if !strings.HasPrefix(got[i], begin) {
					t.Errorf("got %q, want it to begin with %q", got[i], begin)
				}
			}
		})
	}
}
