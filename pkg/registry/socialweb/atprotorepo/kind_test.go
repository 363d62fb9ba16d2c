package atprotorepo

import (
	"testing"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// Whoever writes a status moves no grant to another account, and gives none.
func TestStatusThatNobodyWrites(t *testing.T) {
	const a, b = "did:web:a.example.com", "did:web:b.example.com"
	for name, c := range map[string]struct{ was, sent, want socialweb.AtprotoRepoStatus }{
		"a grant":         {socialweb.AtprotoRepoStatus{DID: a}, socialweb.AtprotoRepoStatus{DID: a, ExecuteGranted: true}, socialweb.AtprotoRepoStatus{DID: a}},
		"no grant":        {socialweb.AtprotoRepoStatus{DID: a, ExecuteGranted: true}, socialweb.AtprotoRepoStatus{DID: a}, socialweb.AtprotoRepoStatus{DID: a, ExecuteGranted: true}},
		"resolved":        {socialweb.AtprotoRepoStatus{}, socialweb.AtprotoRepoStatus{DID: a}, socialweb.AtprotoRepoStatus{DID: a}},
		"another account": {socialweb.AtprotoRepoStatus{DID: a}, socialweb.AtprotoRepoStatus{DID: b, Rev: "r"}, socialweb.AtprotoRepoStatus{DID: a, Rev: "r"}},
		"forgotten":       {socialweb.AtprotoRepoStatus{DID: a}, socialweb.AtprotoRepoStatus{}, socialweb.AtprotoRepoStatus{DID: a}},
	} {
		to, from := &socialweb.AtprotoRepo{Status: c.sent}, &socialweb.AtprotoRepo{Status: c.was}
		Kind(false).KeepStatus(to, from)
		if s := to.Status; s.DID != c.want.DID || s.ExecuteGranted != c.want.ExecuteGranted || s.Rev != c.want.Rev {
			t.Errorf("%s: %+v", name, s)
		}
		// With an account in the spec the status tells what was found alone.
		to, from = &socialweb.AtprotoRepo{Status: c.sent}, &socialweb.AtprotoRepo{Spec: socialweb.AtprotoRepoSpec{DID: a}, Status: c.was}
		Kind(false).KeepStatus(to, from)
		if to.Status.DID != c.sent.DID || to.Status.ExecuteGranted != c.was.ExecuteGranted {
			t.Errorf("%s, with an account: %+v", name, to.Status)
		}
	}
}
