package harness

import (
	"context"
	"sync"
)

// slice keeps the EndpointSlice up with the replicas. kube-apiserver may be away
// meanwhile: what could not be written is written later.
type slice struct {
	mu     sync.Mutex
	wanted bool // the object is there
	dirty  bool
}

func (s *slice) setWanted(wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted, s.dirty = wanted, true
}

func (s *slice) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = true
}

func (s *slice) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	take := s.wanted && s.dirty
	if take {
		s.dirty = false
	}
	return take
}

// ready tells the Service whether a replica takes connections.
func (p *Plane) ready(r *Replica, ready bool) {
	if p.Balancer.set(r.Addr, ready) {
		p.slice.change()
	}
}

// syncSlice writes the slice when it has changed.
func (p *Plane) syncSlice(ctx context.Context) {
	if p.slice.take() && p.writeSlice(ctx) != nil {
		p.slice.change()
	}
}
