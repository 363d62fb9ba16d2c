package devpds

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/klog/v2"
)

// pageSize is how many events a subscriber takes from the log at once.
const pageSize = 500

// isUpgrade tells whether the client wants a websocket.
func isUpgrade(r *http.Request) bool { return websocket.IsWebSocketUpgrade(r) }

// subscriber is one connection of com.atproto.sync.subscribeRepos.
type subscriber struct {
	server *Server
	conn   *websocket.Conn
	// sent is the last seq sent, or the cursor.
	sent uint64
	// live is true once the subscriber had everything: from then on it may lag
	// by MaxBuffer events only.
	live bool
}

// streamError ends a connection with an error frame.
type streamError struct{ name, text string }

// Error implements error.
func (e *streamError) Error() string { return e.name + ": " + e.text }

// closeTimeout is how long the end of a connection may take to be told. It is not what
// bounds it: the server's end closes every connection.
const closeTimeout = time.Minute

// subscribeRepos is com.atproto.sync.subscribeRepos. It returns an error only
// while it can still be answered.
//
// Where it begins is settled before the client is answered: unlike from the reference
// PDS, whoever knows that it is connected misses nothing of what comes then.
func (s *Server) subscribeRepos(w http.ResponseWriter, r *http.Request) error {
	last, forgotten, _ := s.log.state()
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return nil // answered by the upgrader
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	s.running.Add(1)
	go func() { // reads control frames, and notices the end
		defer s.running.Done()
		defer cancel()
		for {
			if _, _, err := conn.NextReader(); err != nil {
				return
			}
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer context.AfterFunc(s.life, cancel)() //nolint:contextcheck // the server's end counts besides the connection's

	sub := &subscriber{server: s, conn: conn}
	if err = sub.begin(last, forgotten, r.URL.Query().Get("cursor"), r.URL.Query().Has("cursor")); err == nil {
		err = sub.run(ctx)
	}
	sub.finish(err)
	return nil
}

// finish says why, and closes.
func (sub *subscriber) finish(err error) {
	var e *streamError
	code, text := websocket.CloseNormalClosure, ""
	if errors.As(err, &e) {
		if data, err := errorFrame(e.name, e.text); err == nil {
			_ = sub.conn.WriteMessage(websocket.BinaryMessage, data)
		}
		code, text = websocket.ClosePolicyViolation, e.name
	}
	_ = sub.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text), time.Now().Add(closeTimeout))
	_ = sub.conn.Close()
}

// run sends events until the connection ends.
func (sub *subscriber) run(ctx context.Context) error {
	log := sub.server.log
	for {
		last, forgotten, changed := log.state()
		if sub.sent < forgotten {
			return tooSlow()
		}
		if sub.sent >= last {
			sub.live = true
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		events, err := log.after(sub.sent, pageSize)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Embedded PDS could not read its events")
			return &streamError{"InternalServerError", "Internal Server Error"}
		}
		for _, e := range events {
			last, _, _ := log.state()
			if sub.live && last-e.seq > uint64(sub.server.config.MaxBuffer) {
				return tooSlow()
			}
			if err := sub.conn.WriteMessage(websocket.BinaryMessage, e.frame); err != nil {
				return err // the client is gone
			}
			sub.sent = e.seq
		}
	}
}

func tooSlow() error { return &streamError{"ConsumerTooSlow", "Stream consumer too slow"} }

// begin finds where to start: after the last event, at the cursor, or, with an #info,
// at the beginning of the back-fill window.
func (sub *subscriber) begin(last, forgotten uint64, cursor string, hasCursor bool) error {
	log := sub.server.log
	if !hasCursor {
		sub.sent, sub.live = last, true
		return nil
	}
	at, err := strconv.ParseInt(strings.TrimSpace(cursor), 10, 64)
	if err != nil {
		return &streamError{"InvalidRequest", fmt.Sprintf("Invalid com.atproto.sync.subscribeRepos params: Expected integer value type (got %q)", cursor)}
	}
	if at > int64(last) {
		return &streamError{"FutureCursor", "Cursor in the future."}
	}
	sub.sent = uint64(max(at, 0))
	since := sub.server.clock.Now().Add(-sub.server.config.Backfill)
	next, err := log.after(max(sub.sent, forgotten), 1)
	if err != nil {
		return err
	}
	outdated := sub.sent < forgotten || len(next) > 0 && next[0].at.Before(since)
	if !outdated {
		return nil
	}
	info, err := infoFrame("OutdatedCursor", "Requested cursor exceeded limit. Possibly missing events")
	if err != nil {
		return err
	}
	if err := sub.conn.WriteMessage(websocket.BinaryMessage, info); err != nil {
		return err
	}
	first, found, err := log.firstSince(max(sub.sent, forgotten), since)
	if err != nil {
		return err
	}
	if !found {
		sub.sent, sub.live = last, true
		return nil
	}
	sub.sent = first.seq - 1
	return nil
}
