package bench

import (
	"bytes"
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

// BenchmarkWatchBusy: from the answer to a foreign putRecord to our watch event,
// and to the event of a bare firehose subscriber of the very same put. A busy
// PDS's sequencer looks for events in pauses that double, so the time depends on
// when a put falls; only of the same puts can it be compared.
func BenchmarkWatchBusy(b *testing.B) {
	const n = 100
	e := start(b, nil)
	bare, end := e.subscribe(b)
	defer end()
	w := e.watch(b)
	defer w.Stop()
	var cid string
	var ours, theirs times
	for i := range n {
		t := e.putTimes(b, 1, 30*time.Millisecond, &cid, bare, func(text string) time.Time { return awaitDescription(w, text) })
		if i >= warmPuts {
			theirs, ours = append(theirs, t[0]), append(ours, t[1])
		}
	}
	add(b, watchResult("busy", ours, theirs, "≤ 1.5", "the event; one etcd transaction to look, one to write; the watch cache"), ratio(ours.median(), max(theirs.median(), time.Microsecond)))
}

// warmPuts are made before it is measured.
const warmPuts = 10

// BenchmarkWatchIdle: the same where a put comes after a while in which nothing
// happened. The subscriber is measured with our server stopped: our looking wakes
// the PDS's sequencer up.
func BenchmarkWatchIdle(b *testing.B) {
	const n, pause = 15, 2 * time.Second
	var cid string
	var theirs times
	e := start(b, func(e *env) {
		bare, end := e.subscribe(b)
		defer end()
		theirs = e.putTimes(b, n, pause, &cid, bare)
	})
	w := e.watch(b)
	defer w.Stop()
	ours := e.putTimes(b, n, pause, &cid, func(text string) time.Time { return awaitDescription(w, text) })
	add(b, watchResult("idle", ours, theirs, "≤ 0.5", "the look at getLatestCommit comes around (10 a second), then a second firehose connection brings the event"),
		ratio(ours.median(), max(theirs.median(), time.Microsecond)))
}

func watchResult(kind string, ours, theirs times, goal, where string) result {
	return result{what: "Foreign put to watch event, " + kind, ours: ours.String(), theirs: "bare firehose: " + theirs.String(), goal: goal, where: where}
}

func (e *env) watch(b *testing.B) watch.Interface {
	b.Helper()
	w, err := e.client.SocialwebV1alpha1().Infras().Watch(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// putTimes puts n times, and takes the time from each answer to what each of
// awaits saw, one after the other.
func (e *env) putTimes(b *testing.B, n int, pause time.Duration, cid *string, awaits ...func(text string) time.Time) times {
	b.Helper()
	var out times
	for i := range n {
		// Out of step with the sequencer's own pauses, which double up to a second.
		time.Sleep(pause + rand.N(pause))
		text := fmt.Sprintf("%s %d", time.Now(), i)
		var seen []chan time.Time
		for _, await := range awaits {
			c := make(chan time.Time, 1)
			seen = append(seen, c)
			go func() { c <- await(text) }()
		}
		var err error
		if *cid, err = e.put(b.Context(), "one", text, *cid); err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		for _, c := range seen {
			out = append(out, max(0, (<-c).Sub(begin)))
		}
	}
	return out
}

// subscribe opens a bare firehose, which awaits one event at a time.
func (e *env) subscribe(b *testing.B) (await func(string) time.Time, end func()) {
	b.Helper()
	conn, _, err := websocket.DefaultDialer.DialContext(b.Context(), strings.Replace(e.pds.URL, "http", "ws", 1)+"/xrpc/com.atproto.sync.subscribeRepos", nil) //nolint:bodyclose // a websocket
	if err != nil {
		b.Fatal(err)
	}
	return func(text string) time.Time {
		for {
			_, frame, err := conn.ReadMessage()
			if err != nil {
				return time.Time{}
			}
			if bytes.Contains(frame, []byte(text)) {
				return time.Now()
			}
		}
	}, func() { _ = conn.Close() }
}

func awaitDescription(w watch.Interface, text string) time.Time {
	for e := range w.ResultChan() {
		if o, ok := e.Object.(*v1alpha1.Infra); ok && o.Spec.Description == text {
			return time.Now()
		}
	}
	return time.Time{}
}
