package testproxy

import "testing"

// A request that has come is waited for until it has its answer; what nobody asks, or has
// got an answer, isn't.
func TestAwaitAnswers(t *testing.T) {
	b, p, client := start(t)
	p.AwaitAnswers(record)
	arrived, release := make(chan struct{}), make(chan struct{})
	p.Set(Fault{Times: 1, Before: func() {
		close(arrived)
		<-release
	}}, record)
	answer := make(chan string)
	go func() {
		got, _ := call(t.Context(), t, client, p, record, "")
		answer <- got
	}()
	<-arrived
	p.AwaitAnswers("other.method")
	go close(release)
	p.AwaitAnswers(record, "other.method")
	if n := b.hits.Load(); n != 1 {
		t.Errorf("%d requests have reached the PDS", n)
	}
	if got := <-answer; got[:3] != "200" {
		t.Errorf("answer %q", got)
	}
}
