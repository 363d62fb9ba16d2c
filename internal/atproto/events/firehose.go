package events

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// FirehoseOptions of NewFirehose.
type FirehoseOptions struct {
	Stream
	// Keys verify the signatures of commits; nil: signatures are not checked.
	Keys atproto.KeyResolver
	// Cursor to begin with, 0: none.
	Cursor int64
}

// Firehose is the Source over com.atproto.sync.subscribeRepos: one connection
// for all subscribed repositories of a PDS. It remembers the sequence number of
// the last event and asks for what came after it when it reconnects.
type Firehose struct {
	o          FirehoseOptions
	hub        *hub
	complaints complaints

	// mu serializes the processing of messages, whichever connection they come
	// from, and guards the fields below.
	mu sync.Mutex
	// cursor is the sequence number of the last message that was processed; 0:
	// none. A message that is not after it has been seen.
	cursor int64
	// revs holds the last rev of each subscribed repository since its last Gap; until
	// the next message also of those whose subscription has ended.
	revs map[string]string
	// progress is closed and replaced when a message was processed.
	progress chan struct{}
}

var _ Source = (*Firehose)(nil)

// NewFirehose makes a Firehose; Run starts it.
func NewFirehose(o FirehoseOptions) (*Firehose, error) {
	s, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("firehose: %w", err)
	}
	o.Stream = s
	return &Firehose{o: o, hub: newHub(), cursor: o.Cursor, revs: map[string]string{}, progress: make(chan struct{})}, nil
}

// Subscribe implements Source.
func (f *Firehose) Subscribe(did string, h Handler) (cancel func()) { return f.hub.subscribe(did, h) }

// Connected implements Source.
func (f *Firehose) Connected() bool { return f.hub.isConnected() }

// Cursor is the sequence number of the last message; 0: none yet.
func (f *Firehose) Cursor() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cursor
}

// Run implements Source. It returns nil when ctx ended.
func (f *Firehose) Run(ctx context.Context) error {
	log := klog.FromContext(ctx).WithValues("firehose", f.o.URL)
	wait := backoff{min: f.o.MinBackoff, max: f.o.MaxBackoff}
	for ctx.Err() == nil {
		begin := f.o.Clock.Now()
		received, err := f.session(ctx)
		f.hub.setConnected(false)
		if received || f.o.Clock.Since(begin) > f.o.MaxBackoff {
			wait.reset()
		}
		pause := wait.pause()
		log.V(2).Info("Firehose disconnected", "err", err, "retryIn", pause)
		sleep(ctx, f.o.Clock, pause)
	}
	return nil
}

// session connects and processes messages until the connection ends. received
// tells whether there were any.
func (f *Firehose) session(ctx context.Context) (received bool, err error) {
	anew := f.Cursor() == 0
	k, err := f.connect(ctx)
	if err != nil {
		return false, err
	}
	defer k.close()
	if anew {
		f.hub.gapAll(reasonAnew)
		defer f.settle(ctx)()
	}
	f.hub.setConnected(true)
	for {
		b, err := k.read(websocket.BinaryMessage)
		if err != nil {
			return received, fmt.Errorf("read: %w", err)
		}
		if err := f.receive(ctx, b); err != nil {
			return received, err
		}
		received = true
	}
}

func (f *Firehose) connect(ctx context.Context) (*socket, error) {
	path := "/xrpc/com.atproto.sync.subscribeRepos"
	if c := f.Cursor(); c > 0 {
		path += "?" + url.Values{"cursor": {strconv.FormatInt(c, 10)}}.Encode()
	}
	return f.o.dial(ctx, path)
}

const reasonAnew = "connected without a cursor"

// settleAfter is how long after a connection without a cursor a second Gap
// follows.
const settleAfter = 2 * time.Second

// settle sends a second Gap some time after a connection without a cursor: the
// handshake may be over before the PDS listens to its own events, and what falls
// in between is in no stream. The function that is returned ends the wait.
func (f *Firehose) settle(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if sleep(ctx, f.o.Clock, settleAfter) {
			f.hub.gapAll(reasonAnew)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// receive processes one frame.
func (f *Firehose) receive(ctx context.Context, frame []byte) error {
	m, err := decodeFrame(frame)
	var se *streamError
	switch {
	case errors.As(err, &se):
		f.streamError(se)
		return err
	case err != nil:
		// What it said is unknown, and whose it was.
		f.lose("a frame could not be decoded", false)
		f.complaints.log(ctx, f.o.Clock, err, "Firehose frame", "firehose", f.o.URL)
		return nil
	}
	f.process(ctx, m)
	return nil
}

// streamError prepares the next connection for what the PDS complained about.
func (f *Firehose) streamError(e *streamError) {
	switch e.Name {
	case "FutureCursor":
		// The PDS has fewer events than we saw: its sequence began anew.
		f.lose("FutureCursor: the PDS counts its events anew", true)
	case "ConsumerTooSlow":
		f.lose("ConsumerTooSlow", false)
	}
}

// lose forgets what the next revs must follow on, and tells everyone. restart
// forgets the cursor too.
func (f *Firehose) lose(reason string, restart bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.revs)
	if restart {
		f.cursor = 0
	}
	f.hub.gapAll(reason)
}
