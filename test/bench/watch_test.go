package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

func mustJSON(b *testing.B, v any) []byte {
	b.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func BenchmarkWatchBusy(b *testing.B) { benchWatch(b, "busy", 30*time.Millisecond, "≤ 1.5") }
func BenchmarkWatchIdle(b *testing.B) { benchWatch(b, "idle", 2*time.Second, "≤ 0.5") }

// benchWatch: from the answer to a foreign putRecord to our watch event, and to
// the event of a bare firehose subscriber of such a put. The subscriber is
// measured with our server stopped: our looking wakes the PDS's sequencer up.
func benchWatch(b *testing.B, kind string, pause time.Duration, goal string) {
	b.Helper()
	n := 60
	if kind == "idle" {
		n = 15
	}
	var cid string
	var theirs times
	e := start(b, func(e *env) { theirs = e.firehoseTimes(b, n, pause, &cid) })
	w, err := e.client.SocialwebV1alpha1().Infras().Watch(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Stop()
	ours := e.putTimes(b, n, pause, &cid, func(text string) time.Time { return awaitDescription(w, text) })
	where := "the event, one sync.getRecord to read the record, one etcd write, the watch cache"
	if kind == "idle" {
		where = "the look at getLatestCommit comes around (10 a second), then a second firehose connection brings the event"
	}
	add(b, result{
		what: "Foreign put to watch event, " + kind, ours: ours.String(), theirs: "bare firehose: " + theirs.String(), goal: goal, where: where,
	}, ratio(ours.median(), max(theirs.median(), time.Microsecond)))
}

// putTimes puts n times, and takes the time from each answer to what await saw.
func (e *env) putTimes(b *testing.B, n int, pause time.Duration, cid *string, await func(text string) time.Time) times {
	b.Helper()
	var out times
	for i := range n {
		// Out of step with the sequencer's own pauses, which double up to a second.
		time.Sleep(pause + rand.N(pause))
		text := fmt.Sprintf("%s %d", time.Now(), i)
		seen := make(chan time.Time, 1)
		go func() { seen <- await(text) }()
		var err error
		if *cid, err = e.put(b.Context(), "one", text, *cid); err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		out = append(out, max(0, (<-seen).Sub(begin)))
	}
	return out
}

func (e *env) firehoseTimes(b *testing.B, n int, pause time.Duration, cid *string) times {
	b.Helper()
	conn, _, err := websocket.DefaultDialer.DialContext(b.Context(), strings.Replace(e.pds.URL, "http", "ws", 1)+"/xrpc/com.atproto.sync.subscribeRepos", nil) //nolint:bodyclose // a websocket
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the run is over
	return e.putTimes(b, n, pause, cid, func(string) time.Time {
		if _, _, err := conn.ReadMessage(); err != nil {
			return time.Time{}
		}
		return time.Now()
	})
}

func awaitDescription(w watch.Interface, text string) time.Time {
	for e := range w.ResultChan() {
		if o, ok := e.Object.(*v1alpha1.Infra); ok && o.Spec.Description == text {
			return time.Now()
		}
	}
	return time.Time{}
}
