package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/pkg/registry"
)

var _ registry.Rehearser = (*quotaStorage)(nil)

// Rehearse implements registry.Rehearser: it refuses what a write would be refused for.
// Nothing is reserved, and nothing counts, not as a refusal either.
func (s *quotaStorage) Rehearse(ctx context.Context, key string, obj, old runtime.Object) error {
	if !s.limited(ctx) {
		return nil
	}
	if old == nil {
		size, err := s.size(ctx, obj)
		if err != nil {
			return err
		}
		return s.told(nameIn(obj), s.usage.MayCreate(ctx, key, size))
	}
	grows, err := s.growth(ctx, old)
	if err != nil {
		return err
	}
	more, err := grows(obj)
	if err != nil || more <= 0 {
		return err
	}
	return s.told(nameIn(obj), s.usage.MayGrow(ctx, key, more))
}
