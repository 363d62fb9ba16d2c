package api

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/testproxy"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// TestImmediate: once a write straight to the PDS was answered, the next GET and
// the next LIST show it, whether the event source delivers, is off, or is
// connected and silent. 1,000 writes in all, on both PDSes.
func TestImmediate(t *testing.T) {
	type variant struct {
		name    string
		source  v1alpha1.EventSourceType
		streams testproxy.StreamMode
		dev     int // writes on the embedded PDS
		ref     int // writes on the reference PDS
	}
	for _, v := range []variant{
		{"events on", v1alpha1.EventSourceFirehose, testproxy.StreamPass, 300, 50},
		{"events off", v1alpha1.EventSourceFirehose, testproxy.StreamCut, 200, 30},
		{"events stalled", v1alpha1.EventSourceFirehose, testproxy.StreamStalled, 200, 50},
		{"polled once an hour", v1alpha1.EventSourcePoll, testproxy.StreamPass, 150, 20},
	} {
		run := func(open func(*testing.T) *account, writes int) func(*testing.T) {
			return func(t *testing.T) {
				t.Parallel()
				a := open(t)
				e := newEnv(t, a, func(r *v1alpha1.AtprotoRepo) { r.Spec.EventSource = v.source })
				e.setStreams(t, v.source, v.streams)
				seen := 0
				for i := range writes {
					if e.seesAtOnce(t, i) {
						seen++
					}
				}
				if seen != writes {
					t.Errorf("%d of %d", seen, writes)
				}
			}
		}
		t.Run(v.name+"/embedded PDS", run(onEmbedded, v.dev))
		t.Run(v.name+"/reference PDS", run(onReference, v.ref))
	}
}

// setStreams changes the mode of the event streams, once the server's stream is
// what it is in that mode.
func (e *env) setStreams(t *testing.T, source v1alpha1.EventSourceType, m testproxy.StreamMode) {
	t.Helper()
	switch {
	case source == v1alpha1.EventSourcePoll:
	case m == testproxy.StreamCut:
		e.proxy.SetStreams(m)
		e.awaitRepo(t, v1alpha1.ConditionStreaming, metav1.ConditionFalse)
	default:
		e.awaitRepo(t, v1alpha1.ConditionStreaming, metav1.ConditionTrue)
		e.proxy.SetStreams(m)
	}
}

// seesAtOnce makes write i (a creation, a change or a deletion of one of ten
// records) and reads it both ways, in turns the one or the other first.
func (e *env) seesAtOnce(t *testing.T, i int) bool {
	t.Helper()
	name, want := fmt.Sprintf("r%d", i%10), fmt.Sprintf("edit %d", i)
	if i%7 == 6 {
		e.account.remove(t, name)
		want = ""
	} else {
		e.account.put(t, name, infraRecord(want))
	}
	get := func() bool {
		got, err := e.client.Infras().Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return want == ""
		}
		if err != nil {
			t.Errorf("GET after write %d: %v", i, err)
			return false
		}
		return got.Spec.Description == want
	}
	list := func() bool {
		got, err := e.client.Infras().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Errorf("LIST after write %d: %v", i, err)
			return false
		}
		for _, item := range got.Items {
			if item.Name == name {
				return item.Spec.Description == want
			}
		}
		return want == ""
	}
	if i%2 == 0 {
		return get() && list()
	}
	return list() && get()
}
