package testpds

import (
	"testing"
)

// step is one request that both PDSes get.
type step struct {
	name string
	run  func(p *peer) answer
	// loose compares all but the text of the message.
	loose bool
}

// TestEmbeddedAnswersAsReference sends the same requests, in the same order, to
// the embedded and to the reference PDS: status, error name, message, headers
// that matter, and the whole body must be equal, but for what is random.
func TestEmbeddedAnswersAsReference(t *testing.T) {
	o := Options{Accounts: []string{"alice", "bob"}}
	dev, ref := newPeer(t, StartDev(t, o)), newPeer(t, StartReference(t, o))
	for _, group := range []struct {
		name  string
		steps []step
	}{
		{"sessions", sessionSteps()},
		{"puts", putSteps()},
		{"records", recordContentSteps()},
		{"reads", readSteps()},
		{"deletes", deleteSteps()},
		{"applyWrites", applySteps()},
		{"sync", syncSteps()},
		{"HTTP", httpSteps()},
		{"status", statusSteps()},
	} {
		t.Run(group.name, func(t *testing.T) {
			dev.t, ref.t = t, t
			for _, st := range group.steps {
				got, want := st.run(dev), st.run(ref)
				if g, w := dev.normal(got, st.loose), ref.normal(want, st.loose); g != w {
					t.Errorf("%s:\nembedded:  %s\nreference: %s", st.name, g, w)
				}
			}
		})
	}
}
