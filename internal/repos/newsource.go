package repos

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// anyAccount stands where a configuration wants an account and none is meant.
const anyAccount = "did:plc:unknown"

// EventOptions of NewEventSources.
type EventOptions struct {
	// Collections whose records matter.
	Collections []string
	// Jetstream is the server for AtprotoRepos that name none; "": there is none.
	Jetstream string
	// PollInterval of the source type Poll; 0: its default.
	PollInterval time.Duration
	// Leading tells whether this replica is the one that polls; nil: always.
	Leading func() bool
	// Dialer decides which addresses are allowed; HTTP likewise, for polls.
	Dialer atproto.Dialer
	HTTP   *http.Client
	// Keys verify the signatures of commits.
	Keys atproto.KeyResolver
	// Budgets of requests.
	Budgets *atproto.Budgets
	// Clock; nil: the real one.
	Clock clock.WithTicker
}

// NewEventSources makes event sources of all types.
func NewEventSources(o EventOptions) func(SourceKey) (events.Source, error) {
	return func(k SourceKey) (events.Source, error) {
		stream := events.Stream{URL: k.PDS, Collections: o.Collections, Dialer: o.Dialer, Clock: o.Clock}
		switch k.Type {
		case v1alpha1.EventSourceFirehose:
			return events.NewFirehose(events.FirehoseOptions{Stream: stream, Keys: o.Keys})
		case v1alpha1.EventSourceJetstream:
			if stream.URL = k.Jetstream; stream.URL == "" {
				stream.URL = o.Jetstream
			}
			if stream.URL == "" {
				return nil, errors.New("spec.jetstreamURL is empty, and the server has no Jetstream of its own: give the address, or set spec.eventSource to Firehose or Poll")
			}
			stream.URL = httpScheme(stream.URL)
			return events.NewJetstream(events.JetstreamOptions{Stream: stream})
		case v1alpha1.EventSourcePoll:
			latest, err := atproto.LatestCommits(atproto.Config{
				PDS: k.PDS, DID: anyAccount, HTTP: o.HTTP, Budget: o.Budgets.For(k.PDS), Clock: o.Clock,
			})
			if err != nil {
				return nil, err
			}
			return events.NewPoll(events.PollOptions{Latest: latest, Interval: o.PollInterval, Leading: o.Leading, Clock: o.Clock})
		default:
			return nil, fmt.Errorf("spec.eventSource %q is not known", k.Type)
		}
	}
}

// httpScheme is a ws or wss URL as the event sources want it.
func httpScheme(url string) string {
	if rest, ok := strings.CutPrefix(url, "ws"); ok {
		return "http" + rest
	}
	return url
}
