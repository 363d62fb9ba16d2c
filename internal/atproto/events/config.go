package events

import (
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// Stream is what the streaming sources have in common. The zero value of every
// field but the ones named required is useful.
type Stream struct {
	// URL of the service: the base URL of the PDS for a Firehose, of the Jetstream
	// for a Jetstream. Required.
	URL string
	// Collections whose ops are delivered; none: all.
	Collections []string
	// Dialer opens the connection; nil: atproto.NewDialer(false), which refuses
	// private addresses.
	Dialer atproto.Dialer
	// Clock for backoff; nil: the real one.
	Clock clock.WithTicker
	// PingEvery is how often we ask whether the other side is there; 0: 15 s.
	PingEvery time.Duration
	// ReadTimeout ends a connection on which nothing arrived, not even an answer
	// to a ping; 0: three times PingEvery.
	ReadTimeout time.Duration
	// MinBackoff and MaxBackoff bound the pause between attempts to connect; 0:
	// 200 ms and 30 s.
	MinBackoff, MaxBackoff time.Duration
}

func (s Stream) complete() (Stream, error) {
	host, err := atproto.NormalizeHost(s.URL)
	if err != nil {
		return s, err
	}
	s.URL = host
	if s.Dialer == nil {
		s.Dialer = atproto.NewDialer(false)
	}
	if s.Clock == nil {
		s.Clock = clock.RealClock{}
	}
	if s.PingEvery <= 0 {
		s.PingEvery = 15 * time.Second
	}
	if s.ReadTimeout <= 0 {
		s.ReadTimeout = 3 * s.PingEvery
	}
	if s.MinBackoff <= 0 {
		s.MinBackoff = 200 * time.Millisecond
	}
	if s.MaxBackoff <= 0 {
		s.MaxBackoff = 30 * time.Second
	}
	return s, nil
}

// backoff grows from min to max, with jitter, so that the replicas of a server
// don't come back to a restarted PDS at the same moment.
type backoff struct {
	min, max, next time.Duration
}

func (b *backoff) pause() time.Duration {
	d := max(b.next, b.min)
	b.next = min(2*d, b.max)
	return d/2 + rand.N(d)
}

func (b *backoff) reset() { b.next = 0 }
