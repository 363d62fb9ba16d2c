package repos

import (
	"context"
	"errors"
	"testing"

	"socialweb.computer/infra-apiserver/internal/atproto/events"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// runner is a source that tells when it runs and when it ended.
type runner struct {
	events.Source
	began, ended chan struct{}
}

func (r *runner) Run(ctx context.Context) error {
	close(r.began)
	<-ctx.Done()
	close(r.ended)
	return nil
}

func TestSourcesAreShared(t *testing.T) {
	var made []*runner
	s := newSources(func(SourceKey) (events.Source, error) {
		made = append(made, &runner{began: make(chan struct{}), ended: make(chan struct{})})
		return made[len(made)-1], nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	s.start(ctx)
	k := SourceKey{Type: v1alpha1.EventSourceFirehose, PDS: "https://a"}
	one, releaseOne, err := s.hold(k)
	if err != nil {
		t.Fatal(err)
	}
	two, releaseTwo, err := s.hold(k)
	if err != nil || two != one || len(made) != 1 {
		t.Fatalf("a second holder got another source (%v)", err)
	}
	if _, _, err := s.hold(SourceKey{Type: v1alpha1.EventSourcePoll, PDS: "https://a"}); err != nil || len(made) != 2 {
		t.Fatalf("%d sources for two types (%v)", len(made), err)
	}
	<-made[0].began
	releaseOne()
	releaseOne() // counts once
	select {
	case <-made[0].ended:
		t.Fatal("it ended while somebody held it")
	default:
	}
	releaseTwo()
	<-made[0].ended
	if _, _, err := s.hold(k); err != nil || len(made) != 3 {
		t.Errorf("held again: %d sources (%v)", len(made), err)
	}
	cancel()
	s.wait()
	for i, r := range made {
		select {
		case <-r.ended:
		default:
			t.Errorf("source %d runs on", i)
		}
	}
}

func TestSourcesThatCantBeMade(t *testing.T) {
	boom := errors.New("boom")
	s := newSources(func(SourceKey) (events.Source, error) { return nil, boom })
	s.start(t.Context())
	if _, _, err := s.hold(SourceKey{}); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	none := newSources(nil)
	none.start(t.Context())
	src, release, err := none.hold(SourceKey{})
	if src != nil || err != nil {
		t.Errorf("source %v, error %v", src, err)
	}
	release()
}

func TestEventSourcesOfAllTypes(t *testing.T) {
	newSource := NewEventSources(EventOptions{Jetstream: "wss://jetstream.example"})
	for _, k := range []SourceKey{
		{Type: v1alpha1.EventSourceFirehose, PDS: "https://a"},
		{Type: v1alpha1.EventSourceJetstream, PDS: "https://a"},
		{Type: v1alpha1.EventSourceJetstream, PDS: "https://a", Jetstream: "ws://other"},
	} {
		if s, err := newSource(k); s == nil || err != nil {
			t.Errorf("%+v: %v, %v", k, s, err)
		}
	}
	if _, err := NewEventSources(EventOptions{})(SourceKey{Type: v1alpha1.EventSourceJetstream, PDS: "https://a"}); err == nil {
		t.Error("a Jetstream without an address was made")
	}
	if _, err := newSource(SourceKey{Type: "Carrier pigeon", PDS: "https://a"}); err == nil {
		t.Error("an unknown type was made")
	}
}
