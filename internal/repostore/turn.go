package repostore

import "context"

// turn is a lock whose waiters leave when their context ends: a request that was
// given up doesn't wait for a long comparison.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// give ends it.
func (t turn) give() { <-t }
