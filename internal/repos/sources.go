package repos

import (
	"context"
	"sync"

	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/atproto/events"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// SourceKey names an event source. Repositories with equal keys share one.
type SourceKey struct {
	// Type of the source.
	Type v1alpha1.EventSourceType
	// PDS whose repositories' events it delivers.
	PDS string
	// Jetstream is the address of the Jetstream server; "" with other types, or
	// where the server's own setting counts.
	Jetstream string
}

// sources runs one event source a key, as long as somebody holds it.
type sources struct {
	newSource func(SourceKey) (events.Source, error)

	mu      sync.Mutex // guards what follows
	base    context.Context
	running map[SourceKey]*source
	wg      sync.WaitGroup
}

type source struct {
	events.Source
	holders int
	stop    context.CancelFunc
}

func newSources(newSource func(SourceKey) (events.Source, error)) *sources {
	return &sources{newSource: newSource, running: map[SourceKey]*source{}}
}

// start allows sources, which end with ctx.
func (s *sources) start(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.base = ctx
}

// hold returns the source of a key, running, until release is called; a nil
// source where there are none.
func (s *sources) hold(k SourceKey) (src events.Source, release func(), err error) {
	if s.newSource == nil {
		return nil, func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.running[k]
	if r == nil {
		made, err := s.newSource(k)
		if err != nil {
			return nil, nil, err
		}
		ctx, stop := context.WithCancel(s.base)
		r = &source{Source: made, stop: stop}
		s.running[k] = r
		s.wg.Go(func() {
			if err := made.Run(ctx); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "The event source ended", "pds", k.PDS, "type", k.Type)
			}
		})
	}
	r.holders++
	var once sync.Once
	return r.Source, func() { once.Do(func() { s.release(k, r) }) }, nil
}

func (s *sources) release(k SourceKey, r *source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.holders--; r.holders > 0 {
		return
	}
	r.stop()
	if s.running[k] == r {
		delete(s.running, k)
	}
}

// wait returns when every source has ended.
func (s *sources) wait() { s.wg.Wait() }
