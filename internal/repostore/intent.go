package repostore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

type operation string

const (
	opCreate operation = "create"
	opUpdate operation = "update"
	opDelete operation = "delete"
)

// intent is the lock of one record: whoever holds it may put or delete the
// record, and holds all that is needed to finish the write, so that anybody can.
type intent struct {
	Op operation `json:"op"`
	// Nonce tells this write from any other (I3).
	Nonce string `json:"nonce"`
	// URI of the record.
	URI string `json:"uri"`
	// Base and Target are the record's CIDs before and after; "" is absent.
	Base   string `json:"base,omitempty"`
	Target string `json:"target,omitempty"`
	// BaseRevision is the view's mod revision that the intent was taken on; 0 is
	// absent. BaseRev is what its stamp said.
	BaseRevision int64  `json:"baseRevision"`
	BaseRev      string `json:"baseRev,omitempty"`
	// Joined: a private write changed the view and the intent together, so that the
	// view's mod revision is the intent's own. Once read, BaseRevision says it.
	Joined bool `json:"joined,omitempty"`
	// Released: the owner has given its answer, without knowing the outcome.
	Released bool `json:"released,omitempty"`
	// Committed, where set, is the rev of the put's commit: the owner knew that it
	// stands and could not finish it. Nobody needs the stream's word for it then.
	Committed string `json:"committed,omitempty"`
	// Object is the new object as it will be stored, by the transformer too; Stamp
	// what will be stamped on it, less the rev, which only the commit tells.
	Object []byte `json:"object,omitempty"`
	Stamp  stamp  `json:"stamp"`
	// Direction that status.record will show.
	Direction Direction `json:"direction,omitempty"`
	// Deadline after which nobody waits for the owner any more. It outlasts the
	// put's own timeout, and is part of the value because an etcd lease could end
	// early, under load, while the put is still on its way.
	Deadline time.Time `json:"deadline"`

	modRevision int64
	horizon     int64 // the mod revision of the repository's horizon when it was taken
}

func decodeIntent(value []byte, modRevision int64) (*intent, error) {
	it := &intent{modRevision: modRevision}
	if err := json.Unmarshal(value, it); err != nil {
		return nil, fmt.Errorf("decode intent: %w", err)
	}
	if it.Joined {
		it.BaseRevision, it.Joined = modRevision, false
	}
	return it, nil
}

// takeIntent takes the lock of ref's record. It fails (false) when somebody else
// holds it or the view is not the one that it was decided on. binds, where not nil,
// is the mount that the object is bound to by it.
func (s *Store) takeIntent(ctx context.Context, ref objectRef, it *intent, binds *mount) (ok bool, err error) {
	ctx, span := s.objectSpan(ctx, "intent", ref)
	defer func() { span.End(kindOf(err)) }()
	it.Deadline = s.hub.clock.Now().Add(s.hub.intentTerm)
	value, err := json.Marshal(it)
	if err != nil {
		return false, fmt.Errorf("encode intent: %w", err)
	}
	key := s.keys.intent(ref)
	cmps := []clientv3.Cmp{absent(key), at(s.keys.view(ref), it.BaseRevision)}
	if binds != nil {
		if err := s.hub.accepts(binds); err != nil {
			return false, err
		}
		cmps = append(cmps, s.hub.notClosing(binds))
	}
	then := []clientv3.Op{clientv3.OpPut(key, string(value))}
	if uri, ok := parseURI(it.URI); ok {
		then = append(then, clientv3.OpGet(s.keys.horizon(ref.workspace, uri.did), clientv3.WithKeysOnly()))
	}
	resp, err := s.txn(ctx, "intent", cmps, then)
	if err == nil && !resp.Succeeded && binds != nil {
		err = s.hub.closed(ctx, binds)
	}
	if err != nil || !resp.Succeeded {
		return false, err
	}
	it.modRevision = resp.Header.Revision
	if len(then) > 1 {
		for _, kv := range found(resp, 1) {
			it.horizon = kv.ModRevision
		}
	}
	return true, nil
}

// dropIntent gives a write up. A put that is still on its way may land later, so
// a tombstone stays for a day: the ingest that then finds the target knows whose
// it is and gives it its private part. failed is true where the put is known not
// to have been applied: no tombstone then. held is false where somebody else had
// settled it before.
func (s *Store) dropIntent(ctx context.Context, ref objectRef, it *intent, failed bool) (held bool, err error) {
	key := s.keys.intent(ref)
	ops := []clientv3.Op{clientv3.OpDelete(key)}
	if !failed && it.Op != opDelete {
		value, err := json.Marshal(it)
		if err != nil {
			return false, fmt.Errorf("encode tombstone: %w", err)
		}
		lease, err := s.hub.etcd.Grant(ctx, int64(tombstoneTerm/time.Second))
		if err != nil {
			return false, fmt.Errorf("lease of tombstone: %w", err)
		}
		defer func() {
			if !held {
				// Nothing hangs on the lease; if this fails, it ends in a day.
				_, _ = s.hub.etcd.Revoke(context.WithoutCancel(ctx), lease.ID)
			}
		}()
		ops = append(ops, clientv3.OpPut(s.keys.tombstones(ref)+it.Nonce, string(value), clientv3.WithLease(lease.ID)))
	}
	resp, err := s.txn(ctx, "dropIntent", []clientv3.Cmp{at(key, it.modRevision)}, ops)
	return err == nil && resp.Succeeded, err
}

// tombstoneTerm is how late a put may land and still be recognized.
const tombstoneTerm = 24 * time.Hour
