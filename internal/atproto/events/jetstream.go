package events

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/klog/v2"
)

// JetstreamOptions of NewJetstream.
type JetstreamOptions struct {
	Stream
	// Overlap is how far before the last event a new connection begins, since
	// Jetstream's clock is its own; 0: 5 s. Events in the overlap come twice.
	Overlap time.Duration
	// MaxAway is how long the source may have been disconnected before its
	// subscribers get a Gap; 0: 10 min. A Jetstream keeps events for a day or
	// more.
	MaxAway time.Duration
}

// Jetstream is the Source over a Jetstream server: JSON events, filtered by the
// server to the subscribed DIDs and collections
// (https://github.com/bluesky-social/jetstream). It carries no proofs and no
// previous rev, so its events are hints even more than a firehose's.
type Jetstream struct {
	o          JetstreamOptions
	hub        *hub
	complaints complaints

	mu sync.Mutex // guards the fields below
	// cursor is the time_us of the last event; 0: none.
	cursor int64
	// last is when we were last connected.
	last time.Time
}

var _ Source = (*Jetstream)(nil)

// NewJetstream makes a Jetstream; Run starts it.
func NewJetstream(o JetstreamOptions) (*Jetstream, error) {
	s, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	o.Stream = s
	if o.Overlap <= 0 {
		o.Overlap = 5 * time.Second
	}
	if o.MaxAway <= 0 {
		o.MaxAway = 10 * time.Minute
	}
	return &Jetstream{o: o, hub: newHub()}, nil
}

// Subscribe implements Source.
func (j *Jetstream) Subscribe(did string, h Handler) (cancel func()) { return j.hub.subscribe(did, h) }

// Connected implements Source.
func (j *Jetstream) Connected() bool { return j.hub.isConnected() }

// Run implements Source. It returns nil when ctx ended.
func (j *Jetstream) Run(ctx context.Context) error {
	log := klog.FromContext(ctx).WithValues("jetstream", j.o.URL)
	wait := backoff{min: j.o.MinBackoff, max: j.o.MaxBackoff}
	for ctx.Err() == nil {
		dids := j.hub.dids()
		if len(dids) == 0 {
			// No DIDs would ask for everybody's events.
			j.hub.wait(ctx)
			continue
		}
		begin := j.o.Clock.Now()
		received, err := j.session(ctx, dids)
		j.hub.setConnected(false)
		if received || j.o.Clock.Since(begin) > j.o.MaxBackoff {
			wait.reset()
		}
		if err == nil {
			continue // other DIDs: connect anew at once
		}
		pause := wait.pause()
		log.V(2).Info("Jetstream disconnected", "err", err, "retryIn", pause)
		sleep(ctx, j.o.Clock, pause)
	}
	return nil
}

// session reads one connection. It returns nil when the set of DIDs changed and
// the connection is no longer the right one.
func (j *Jetstream) session(ctx context.Context, dids []string) (received bool, err error) {
	path, missed := j.resume(dids)
	k, err := j.o.dial(ctx, path)
	if err != nil {
		return false, err
	}
	if len(dids) > maxDIDsInURL {
		if err := k.conn.WriteJSON(j.filter(dids)); err != nil {
			k.close()
			return false, fmt.Errorf("send the filter: %w", err)
		}
	}
	// The watcher closes the connection when the filter changes, which ends the
	// read below.
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan bool, 1)
	go func() {
		select {
		case <-j.hub.changed:
			_ = k.conn.Close()
			changed <- true
		case <-ctx.Done():
			changed <- false
		}
	}()
	defer func() {
		cancel()
		if <-changed {
			err = nil
		}
		k.close()
		j.away()
	}()
	if missed {
		j.hub.gapAll("disconnected for long")
	}
	j.hub.setConnected(true)
	for {
		b, err := k.read(websocket.TextMessage)
		if err != nil {
			return received, fmt.Errorf("read: %w", err)
		}
		received = true
		j.receive(ctx, b)
	}
}

// maxDIDsInURL is how many DIDs are named in the URL; more are sent in a message,
// of which Jetstream takes 10,000.
const maxDIDsInURL = 100

// filter is Jetstream's options_update message, which it waits for after
// requireHello.
func (j *Jetstream) filter(dids []string) any {
	return map[string]any{"type": "options_update", "payload": map[string]any{
		"wantedCollections": j.o.Collections, "wantedDids": dids, "maxMessageSizeBytes": 0,
	}}
}

// resume is the request for the next connection; missed tells whether events
// may have been lost since the last one.
func (j *Jetstream) resume(dids []string) (path string, missed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	q := url.Values{"wantedCollections": j.o.Collections}
	if len(dids) > maxDIDsInURL {
		q.Set("requireHello", "true") // the filter follows in a message
	} else {
		q["wantedDids"] = dids
	}
	if j.cursor > 0 {
		q.Set("cursor", strconv.FormatInt(max(1, j.cursor-j.o.Overlap.Microseconds()), 10))
	}
	missed = j.cursor == 0 || j.o.Clock.Since(j.last) > j.o.MaxAway
	return "/subscribe?" + q.Encode(), missed
}

func (j *Jetstream) away() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = j.o.Clock.Now()
}

// jetstreamEvent is one message.
type jetstreamEvent struct {
	DID    string `json:"did"`
	TimeUS int64  `json:"time_us"`
	Kind   string `json:"kind"`
	Commit *struct {
		Rev        string `json:"rev"`
		Operation  string `json:"operation"`
		Collection string `json:"collection"`
		RKey       string `json:"rkey"`
		CID        string `json:"cid"`
	} `json:"commit"`
	Account *struct {
		Active bool   `json:"active"`
		Status string `json:"status"`
	} `json:"account"`
}

func (j *Jetstream) receive(ctx context.Context, b []byte) {
	var e jetstreamEvent
	if err := json.Unmarshal(b, &e); err != nil {
		j.hub.gapAll("an event could not be decoded")
		j.complaints.log(ctx, j.o.Clock, err, "Jetstream event", "jetstream", j.o.URL)
		return
	}
	switch {
	case e.Commit != nil && wanted(j.o.Collections, e.Commit.Collection):
		c := e.Commit
		j.hub.deliver(Event{Kind: Commit, DID: e.DID, Rev: c.Rev, Ops: []Op{
			{Action: c.Operation, Collection: c.Collection, RKey: c.RKey, CID: c.CID},
		}})
	case e.Account != nil:
		j.hub.deliver(Event{Kind: Account, DID: e.DID, Active: e.Account.Active, Status: e.Account.Status})
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cursor = max(j.cursor, e.TimeUS)
}
