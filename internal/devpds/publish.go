package devpds

import (
	"context"

	"k8s.io/klog/v2"
)

// publish makes a change with its events durable, then visible by calling
// visible, then tells the subscribers.
func (s *Server) publish(ctx context.Context, c change, messages []message, visible func()) error {
	s.publishMu.Lock()
	defer s.publishMu.Unlock()
	last, _, _ := s.log.state()
	now := s.clock.Now()
	for i, m := range messages {
		seq := last + uint64(i) + 1
		frame, err := m(int64(seq), formatTime(now))
		if err != nil {
			return err
		}
		c.events = append(c.events, event{seq: seq, at: now, frame: frame})
	}
	if err := s.store.apply(c); err != nil {
		klog.FromContext(ctx).Error(err, "Embedded PDS could not write")
		return internalError()
	}
	visible()
	s.log.append(c.events)
	if !s.config.Memory && last/forgetEvery != (last+uint64(len(messages)))/forgetEvery {
		if err := s.forgetOld(); err != nil {
			klog.FromContext(ctx).Error(err, "Embedded PDS could not drop old events")
		}
	}
	return nil
}

// forgetEvery is after how many events the old ones are dropped.
const forgetEvery = 1024

// forgetOld drops the events that are older than the back-fill window.
func (s *Server) forgetOld() error {
	last, forgotten, _ := s.log.state()
	first, found, err := s.log.firstSince(forgotten, s.clock.Now().Add(-s.config.Backfill))
	if err != nil {
		return err
	}
	through := last
	if found {
		through = first.seq - 1
	}
	if through <= forgotten {
		return nil
	}
	if err := s.store.apply(change{forget: through}); err != nil {
		return err
	}
	s.log.forget(through)
	return nil
}
