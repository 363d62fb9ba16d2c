package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
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

// ready tells the Service whether a replica takes connections; service.log says why
// not.
func (p *Plane) ready(r *Replica, ready bool, objection error) {
	if !p.Balancer.set(r.Addr, ready) {
		return
	}
	p.slice.change()
	log, err := os.OpenFile(p.file("service.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(log, "%s %s ready=%t %v\n", time.Now().Format(time.RFC3339Nano), r.Name, ready, objection)
		err = errors.Join(err, log.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// syncSlice writes the slice when it has changed.
func (p *Plane) syncSlice(ctx context.Context) {
	if p.slice.take() && p.writeSlice(ctx) != nil {
		p.slice.change()
	}
}
