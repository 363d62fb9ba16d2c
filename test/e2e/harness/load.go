package harness

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// LoadOptions say how much a Load is.
type LoadOptions struct {
	// Objects that are written to in turns, and Watches, each of one of them.
	Objects, Watches int
	// Writes of metadata altogether, Rate of them a second; 0: as fast as they go.
	Writes int
	Rate   int
	// Payload of each object, in bytes.
	Payload int
}

// LoadFigures are what a Load took.
type LoadFigures struct {
	// Took is how long the writes did.
	Took time.Duration
	// Write is from a write's request to its answer, Event from there to its event at
	// one of the watches. Both are sorted.
	Write, Event []time.Duration
	// Slow is how many events the watch got that never read, until it was closed.
	Slow int
	// Opened is the growth of the memory until all watches were open, Third from there
	// until a third of the writes were made, End from there to the end of the writes,
	// when all watches are open still. Total is the memory at the end.
	Opened, Third, End, Total PlaneMemory
}

// Percentile of sorted durations.
func Percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*p/100].Round(time.Millisecond)
}

// String is a line of a table.
func (f *LoadFigures) String() string {
	return fmt.Sprintf("writes %d in %s, p50 %s p99 %s | events %d, p50 %s p99 %s max %s | the slow watch got %d | memory: %s; %s; %s",
		len(f.Write), f.Took.Round(time.Millisecond), Percentile(f.Write, 50), Percentile(f.Write, 99),
		len(f.Event), Percentile(f.Event, 50), Percentile(f.Event, 99), Percentile(f.Event, 100), f.Slow, f.Opened, f.Third, f.End)
}

// load is one Load at work.
type load struct {
	*Plane
	o     LoadOptions
	names []string

	mu      sync.Mutex
	sent    map[int]time.Time // by number of the write
	figures LoadFigures
}

// Load writes to objects while others watch them through the aggregator, and one
// watch of them all never reads. Every watch but that one must get every write, and
// that one all up to where it is closed.
func (p *Plane) Load(t testing.TB, o LoadOptions) *LoadFigures {
	t.Helper()
	l := &load{Plane: p, o: o, sent: map[int]time.Time{}}
	label := Name(t)
	for range o.Objects {
		l.names = append(l.names, p.Infra(t, func(i *v1alpha1.Infra) {
			i.Labels = map[string]string{"load": label}
			i.Annotations = map[string]string{"payload": strings.Repeat("x", o.Payload)}
		}))
	}
	list, err := p.clients.Infra.SocialwebV1alpha1().Infras().List(t.Context(), metav1.ListOptions{LabelSelector: "load=" + label})
	if err != nil {
		t.Fatal(Explain(err))
	}
	closed := p.Memory(t)
	slow := l.slow(t, label, list.ResourceVersion)
	defer slow.Close() //nolint:errcheck // it was read
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var watches, ready, got sync.WaitGroup
	over := make(chan struct{})
	for i := range o.Watches {
		ready.Add(1)
		got.Add(1)
		watches.Go(func() { l.watch(ctx, t, i%o.Objects, list.ResourceVersion, ready.Done, got.Done, over) })
	}
	ready.Wait()
	opened := p.Memory(t)
	l.write(t, 0, o.Writes/3)
	third := p.Memory(t)
	l.write(t, o.Writes/3, o.Writes)
	got.Wait()
	end := p.Memory(t)
	close(over)
	watches.Wait()
	l.figures.Opened, l.figures.Third, l.figures.End = opened.Minus(closed), third.Minus(opened), end.Minus(third)
	l.figures.Total = end
	l.figures.Slow = l.drain(t, slow)
	slices.Sort(l.figures.Write)
	slices.Sort(l.figures.Event)
	return &l.figures
}

// write makes the writes from one number to another; each object gets its own in order.
func (l *load) write(t testing.TB, from, to int) {
	t.Helper()
	infras := l.clients.Infra.SocialwebV1alpha1().Infras()
	begin := time.Now()
	var wg sync.WaitGroup
	for object, name := range l.names {
		wg.Go(func() {
			for n := from + (object-from%l.o.Objects+l.o.Objects)%l.o.Objects; n < to; n += l.o.Objects {
				if l.o.Rate > 0 {
					time.Sleep(time.Until(begin.Add(time.Duration(n-from) * time.Second / time.Duration(l.o.Rate))))
				}
				before := time.Now()
				l.mu.Lock()
				l.sent[n] = before
				l.mu.Unlock()
				patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d"}}}`, n)
				_, err := infras.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
				if err != nil {
					t.Errorf("write %d: %v", n, Explain(err))
					return
				}
				l.mu.Lock()
				l.figures.Write = append(l.figures.Write, time.Since(before))
				l.mu.Unlock()
			}
		})
	}
	wg.Wait()
	l.figures.Took += time.Since(begin)
}

// watch is a watch of one object. It calls ready when it is open, and got when it got
// the last write; it stays open until over is closed.
func (l *load) watch(ctx context.Context, t testing.TB, object int, rv string, ready, got func(), over <-chan struct{}) {
	ready = sync.OnceFunc(ready)
	defer ready()
	got = sync.OnceFunc(got)
	defer got()
	client, err := rest.HTTPClientFor(l.Config())
	if err != nil {
		t.Error(err)
		return
	}
	defer client.CloseIdleConnections()
	path := "/apis/socialweb.computer/v1alpha1/infras?watch=1&fieldSelector=metadata.name%3D" + l.names[object] + "&resourceVersion=" + rv
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL()+path, http.NoBody)
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := client.Do(req)
	ready()
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	want := object
	for lines := bufio.NewReaderSize(resp.Body, 1<<16); want < l.o.Writes; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("a watch of %s ended before write %d: %v", l.names[object], want, err)
			}
			return
		}
		n, ok := number(line)
		if !ok { // the status was published meanwhile
			continue
		}
		switch {
		case n == want:
			l.mu.Lock()
			l.figures.Event = append(l.figures.Event, time.Since(l.sent[n]))
			l.mu.Unlock()
			want += l.o.Objects
		case n > want:
			t.Errorf("a watch of %s got write %d in place of %d", l.names[object], n, want)
			return
		}
	}
	got()
	<-over
}

// number of the write that an event is of.
func number(line []byte) (int, bool) {
	_, rest, ok := bytes.Cut(line, []byte(`"n":"`))
	if !ok {
		return 0, false
	}
	digits, _, _ := bytes.Cut(rest, []byte(`"`))
	n, err := strconv.Atoi(string(digits))
	return n, err == nil
}

// slow opens a watch of all objects at the first replica, and reads nothing.
func (l *load) slow(t testing.TB, label, rv string) *tls.Conn {
	t.Helper()
	c, err := rest.TLSConfigFor(l.Replicas[0].Direct(l.Config()))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", l.Replicas[0].Addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.(*net.TCPConn).SetReadBuffer(1 << 12); err != nil {
		t.Fatal(err)
	}
	c.NextProtos = []string{"http/1.1"}
	conn := tls.Client(plain, c)
	if _, err := fmt.Fprintf(conn, "GET /apis/socialweb.computer/v1alpha1/infras?watch=1&labelSelector=load%%3D%s&resourceVersion=%s HTTP/1.0\r\nHost: x\r\n\r\n", label, rv); err != nil {
		t.Fatal(err)
	}
	return conn
}

// drain reads at last what the slow watch got, to its end, and counts it.
func (l *load) drain(t testing.TB, conn *tls.Conn) (events int) {
	t.Helper()
	if c, ok := conn.NetConn().(*net.TCPConn); ok {
		_ = c.SetReadBuffer(1 << 20)
	}
	_ = conn.SetReadDeadline(time.Now().Add(startTimeout))
	next := make([]int, l.o.Objects)
	for lines := bufio.NewReader(conn); ; {
		line, err := lines.ReadBytes('\n')
		if n, ok := number(line); ok && err == nil {
			if at := n / l.o.Objects; at > next[n%l.o.Objects] {
				t.Errorf("the slow watch has write %d of an object and not %d before", at, next[n%l.o.Objects])
			} else if at == next[n%l.o.Objects] {
				next[n%l.o.Objects]++
				events++
			}
		}
		switch {
		case err == nil && events < l.o.Writes:
		case err == nil || err == io.EOF:
			return events
		default:
			t.Errorf("the slow watch, after %d events: %v", events, err)
			return events
		}
	}
}
