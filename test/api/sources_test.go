package api

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// TestEventSourceIsChanged: a repository changes from one kind of event source to
// another and back while it is served. Reads are immediate all the time, also with
// a source that never delivers; and a watch that was opened before goes on.
func TestEventSourceIsChanged(t *testing.T) {
	t.Parallel()
	e := newEnv(t, onEmbedded(t))
	w := e.watch(t, infras+"?watch=1&resourceVersion="+e.rv(t))
	for i, source := range []v1alpha1.EventSourceType{
		v1alpha1.EventSourcePoll, v1alpha1.EventSourceJetstream, v1alpha1.EventSourceFirehose,
	} {
		e.setRepo(t, func(s *v1alpha1.AtprotoRepoSpec) {
			s.EventSource, s.JetstreamURL = source, ""
			if source == v1alpha1.EventSourceJetstream {
				s.JetstreamURL = "ws://127.0.0.1:1"
			}
		})
		streaming := metav1.ConditionTrue
		if source == v1alpha1.EventSourceJetstream {
			streaming = metav1.ConditionFalse
		}
		e.awaitRepo(t, v1alpha1.ConditionStreaming, streaming)
		e.awaitRepo(t, v1alpha1.ConditionReady, metav1.ConditionTrue)
		for n := range 5 {
			if !e.seesAtOnce(t, i*5+n) {
				t.Errorf("%s: write %d was not seen at once", source, n)
			}
		}
	}
	e.account.put(t, "last", infraRecord("x"))
	w.untilType(t, "ADDED", "last")
}

// TestStreamComesBack: events that a broken stream missed come through the watch
// once it is back, the deletions too, though nobody reads.
func TestStreamComesBack(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *account) {
		e := newEnv(t, a)
		e.create(t, newInfra("gone", "x"))
		e.create(t, newInfra("edited", "x"))
		w := e.watch(t, infras+"?watch=1&resourceVersion="+e.rv(t))
		e.setStreams(t, v1alpha1.EventSourceFirehose, testproxy.StreamCut)
		a.remove(t, "gone")
		a.put(t, "edited", infraRecord("y"))
		for i := range 20 {
			a.put(t, fmt.Sprintf("new%d", i), infraRecord("x"))
		}
		e.proxy.SetStreams(testproxy.StreamPass)
		seen := map[string]bool{}
		for len(seen) < 22 {
			ev, more := w.next(patience)
			if !more {
				t.Fatalf("the watch showed %v", keys(seen))
			}
			i := ev.infra(t)
			if ev.Type == "MODIFIED" && i.Spec.Description != "y" {
				continue // the status of its record
			}
			seen[i.Name] = true
			if i.Name == "gone" != (ev.Type == "DELETED") {
				t.Errorf("%s %s", ev.Type, i.Name)
			}
		}
	})
}
