package events

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorilla/websocket"
)

// ErrNoCursor: CatchUp has no place in the stream to begin from.
var ErrNoCursor = errors.New("no cursor yet")

// CatchUp delivers what the PDS has already written of did up to rev, without
// waiting for its sequencer: an idle reference PDS looks for new events up to a
// second late, but serves a new connection from its database at once. It opens a
// second connection from the current cursor and reads it until rev was
// processed, by either connection, or ctx ends. Events go through the same
// handlers, in order, and once.
func (f *Firehose) CatchUp(ctx context.Context, did, rev string) error {
	if f.reached(did, rev) {
		return nil
	}
	if f.Cursor() == 0 {
		return fmt.Errorf("catch up: %w", ErrNoCursor)
	}
	// The main connection may bring it first: then reading is over.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		f.watch(ctx, did, rev)
		cancel()
	}()
	defer func() { cancel(); <-watched }()

	k, err := f.connect(ctx)
	if err == nil {
		defer k.close()
		for !f.reached(did, rev) {
			var b []byte
			if b, err = k.read(websocket.BinaryMessage); err != nil {
				break
			}
			m, derr := decodeFrame(b)
			if derr != nil {
				err = derr // the main connection will meet it and deal with it
				break
			}
			if m.info == nil {
				f.process(ctx, m)
			}
		}
	}
	if f.reached(did, rev) {
		return nil
	}
	return fmt.Errorf("catch up with %s: %w", did, errors.Join(err, ctx.Err()))
}

// reached tells whether did's events have been processed up to rev.
func (f *Firehose) reached(did, rev string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.revs[did] >= rev
}

// watch returns when did's events have been processed up to rev, or ctx ended.
func (f *Firehose) watch(ctx context.Context, did, rev string) {
	for {
		f.mu.Lock()
		done, progress := f.revs[did] >= rev, f.progress
		f.mu.Unlock()
		if done {
			return
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return
		}
	}
}
