package bench

import (
	"context"
	"encoding/json"
	"fmt"
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
// the event of a bare firehose subscriber of the same put.
func benchWatch(b *testing.B, kind string, pause time.Duration, goal string) {
	b.Helper()
	e := start(b, nil)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	w, err := e.client.SocialwebV1alpha1().Infras().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Stop()
	conn, _, err := websocket.DefaultDialer.DialContext(ctx, strings.Replace(e.pds.URL, "http", "ws", 1)+"/xrpc/com.atproto.sync.subscribeRepos", nil) //nolint:bodyclose // a websocket
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the run is over
	raw := make(chan time.Time, 100)
	go func() {
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
			raw <- time.Now()
		}
	}()
	n := 60
	if kind == "idle" {
		n = 12
	}
	var ours, theirs times
	cid := ""
	for i := range n {
		time.Sleep(pause)
		for len(raw) > 0 {
			<-raw
		}
		text := fmt.Sprint(i)
		if cid, err = e.put(ctx, "one", text, cid); err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		seen := make(chan time.Time, 1)
		go func() { seen <- awaitDescription(w, text) }()
		ours = append(ours, max(0, (<-seen).Sub(begin)))
		theirs = append(theirs, max(0, (<-raw).Sub(begin)))
	}
	where := "the event, one sync.getRecord to read the record, one etcd write, the watch cache"
	if kind == "idle" {
		where = "the look at getLatestCommit comes around, then the comparison of the repository"
	}
	add(b, result{
		what: "Foreign put to watch event, " + kind, ours: ours.String(), theirs: "bare firehose: " + theirs.String(), goal: goal, where: where,
	}, ratio(ours.median(), max(theirs.median(), time.Microsecond)))
}

func awaitDescription(w watch.Interface, text string) time.Time {
	for e := range w.ResultChan() {
		if o, ok := e.Object.(*v1alpha1.Infra); ok && o.Spec.Description == text {
			return time.Now()
		}
	}
	return time.Time{}
}
