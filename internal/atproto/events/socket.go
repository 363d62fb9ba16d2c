package events

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// maxFrame bounds one message. The event stream specification allows 5 MB.
const maxFrame = 6 << 20

// socket is a websocket connection that notices when the other side is gone.
type socket struct {
	conn    *websocket.Conn
	timeout time.Duration
	// stop ends the watching of the context and the pings.
	stop func()
}

// dial connects. When ctx ends, a blocked read of the socket fails.
func (s Stream) dial(ctx context.Context, pathAndQuery string) (*socket, error) {
	d := websocket.Dialer{
		NetDialContext:   s.Dialer.DialContext,
		HandshakeTimeout: 10 * time.Second,
		ReadBufferSize:   64 << 10,
	}
	// http to ws, https to wss
	target := "ws" + strings.TrimPrefix(s.URL, "http") + pathAndQuery
	conn, resp, err := d.DialContext(ctx, target, http.Header{"User-Agent": {"infra-apiserver"}})
	if resp != nil {
		_ = resp.Body.Close() // what the dialer leaves there is in memory
	}
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("connect to %s: %w: HTTP %d", s.URL, err, resp.StatusCode)
		}
		return nil, fmt.Errorf("connect to %s: %w", s.URL, err)
	}
	conn.SetReadLimit(maxFrame)
	k := &socket{conn: conn, timeout: s.ReadTimeout}
	conn.SetPongHandler(func(string) error { return k.extend() })
	ping := conn.PingHandler()
	conn.SetPingHandler(func(data string) error {
		if err := k.extend(); err != nil {
			return err
		}
		return ping(data)
	})
	if err := k.extend(); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("connect to %s: %w", s.URL, err)
	}
	pinging, endPings := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.ping(pinging, s.PingEvery)
	}()
	unwatch := context.AfterFunc(ctx, func() { _ = conn.Close() })
	k.stop = func() {
		unwatch()
		endPings()
		<-done
	}
	return k, nil
}

// ping keeps asking until ctx ends. A ping that can't be written needs no
// answer: the read fails too.
func (k *socket) ping(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if k.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(k.timeout)) != nil {
				return
			}
		}
	}
}

func (k *socket) extend() error { return k.conn.SetReadDeadline(time.Now().Add(k.timeout)) }

// read gives the next message of the wanted type.
func (k *socket) read(kind int) ([]byte, error) {
	for {
		got, b, err := k.conn.ReadMessage()
		if err != nil {
			return nil, err
		}
		if err := k.extend(); err != nil {
			return nil, err
		}
		if got == kind {
			return b, nil
		}
	}
}

// close ends the connection and waits for its goroutines.
func (k *socket) close() {
	k.stop()
	_ = k.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
	_ = k.conn.Close()
}
