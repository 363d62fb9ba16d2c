package testproxy

import (
	"errors"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// stream passes an event stream on, as its mode says, until one of the two ends
// leaves or the mode becomes StreamCut.
func (p *Proxy) stream(w http.ResponseWriter, r *http.Request) {
	if mode, _ := p.streamMode(); mode == StreamCut {
		http.Error(w, "no stream", http.StatusBadGateway)
		return
	}
	u := *r.URL
	u.Scheme, u.Host = "ws"+p.target.Scheme[len("http"):], p.target.Host
	up, resp, err := websocket.DefaultDialer.DialContext(r.Context(), u.String(), nil)
	if err != nil {
		if resp != nil {
			_ = resp.Body.Close()
		}
		http.Error(w, "no stream", http.StatusBadGateway)
		return
	}
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	down, err := upgrader.Upgrade(w, r, nil)
	if err != nil { // Upgrade has answered
		_ = up.Close()
		return
	}
	defer p.release(down.NetConn())
	// Counted as a whole, and not once Close waits: what relay starts is then added
	// to a count that isn't zero.
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.wg.Add(1)
	}
	p.mu.Unlock()
	if closed {
		_, _ = up.Close(), down.Close()
		return
	}
	defer p.wg.Done()
	p.relay(up, down)
}

// relay passes messages from up to down. It returns when both are closed.
func (p *Proxy) relay(up, down *websocket.Conn) {
	gone := make(chan struct{})
	p.wg.Go(func() { // the client sends pings alone; its end is the stream's
		defer close(gone)
		for {
			if _, _, err := down.ReadMessage(); err != nil {
				return
			}
		}
	})
	messages := make(chan message)
	p.wg.Go(func() {
		defer close(messages)
		for {
			kind, data, err := up.ReadMessage()
			select {
			case messages <- message{kind, data, err}:
			case <-gone:
				return
			}
			if err != nil {
				return
			}
		}
	})
	p.pump(messages, down, gone)
	_ = up.Close()
	_ = down.Close()
	<-gone
	for range messages { // until the reader has ended
	}
}

// message is one frame, or the end, of a stream.
type message struct {
	kind int
	data []byte
	err  error
}

// pump passes messages on. One is held until the mode was looked at after it had come: what
// a PDS sends after SetStreams has returned is dealt with in the new mode.
func (p *Proxy) pump(messages <-chan message, down *websocket.Conn, gone <-chan struct{}) {
	var held *message
	for {
		mode, changed := p.streamMode()
		source := messages
		switch {
		case mode == StreamCut:
			return
		case held != nil && mode == StreamPass:
			if held.err != nil {
				relayClose(held.err, down)
				return
			}
			if down.WriteMessage(held.kind, held.data) != nil {
				return
			}
			held = nil
			continue
		case held != nil || mode == StreamStalled:
			source = nil
		}
		select {
		case <-gone:
			return
		case <-changed:
		case m := <-source:
			held = &m
		}
	}
}

// relayClose tells the client how the PDS ended the stream.
func relayClose(err error, down *websocket.Conn) {
	var c *websocket.CloseError
	if errors.As(err, &c) && c.Code != websocket.CloseAbnormalClosure {
		_ = down.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(c.Code, c.Text), time.Now().Add(time.Minute))
	}
}
