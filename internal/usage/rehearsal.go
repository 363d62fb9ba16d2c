package usage

import "context"

// MayCreate fails as Create does, where that would at this moment. Nothing is reserved:
// it is for a write that is not going to be made.
func (t *Tracker) MayCreate(ctx context.Context, key string, size int) error {
	return t.may(ctx, key, creation(size))
}

// MayGrow fails as Grow does. It is as MayCreate.
func (t *Tracker) MayGrow(ctx context.Context, key string, more int) error {
	return t.may(ctx, key, growth(more))
}

func (t *Tracker) may(ctx context.Context, key string, p plan) error {
	workspace, i, ok := t.parse(key)
	if !ok || !t.Limits(workspace) {
		return nil
	}
	_, err := tried(ctx, t, workspace, func() (struct{}, error) { return struct{}{}, t.fits(workspace, i, p) })
	return err
}

// fits fails where there is no room.
func (t *Tracker) fits(workspace string, i id, p plan) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.accountLocked(workspace)
	defer t.dropIdleLocked(workspace)
	if _, e := t.sizedLocked(workspace, a, i, p); e != nil {
		return e
	}
	return nil
}
