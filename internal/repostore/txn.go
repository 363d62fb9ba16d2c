package repostore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/runtime"
	etcdmetrics "k8s.io/apiserver/pkg/storage/etcd3/metrics"

	"socialweb.computer/infra-apiserver/internal/metrics"
)

// txn is the one road by which this package writes to etcd.
func (s *Store) txn(ctx context.Context, verb string, cmps []clientv3.Cmp, then []clientv3.Op) (*clientv3.TxnResponse, error) {
	start := time.Now()
	ctx, span := s.hub.span(ctx, "txn", attribute.String("etcd.operation", verb))
	resp, err := s.hub.etcd.Txn(ctx).If(cmps...).Then(then...).Commit()
	etcdmetrics.RecordEtcdRequest(verb, s.resource, err, start)
	metrics.Transaction(s.resource.Resource, verb, err == nil && resp.Succeeded, err)
	span.End(kindOf(err))
	switch {
	case err == nil:
		return resp, nil
	case errors.Is(err, rpctypes.ErrRequestTooLarge), strings.Contains(err.Error(), "message larger than max"): // told by the server, by the client
		return nil, fmt.Errorf("etcd transaction %s: %w: %w", verb, errOverLimit, err)
	default:
		return nil, fmt.Errorf("etcd transaction %s: %w", verb, err)
	}
}

// guard is what a view's transaction compares beside the view itself.
type guard struct {
	// intent is the open intent that this transaction settles; nil: there must be
	// none (I2). joined, where set, is what it becomes instead: see join.go.
	intent, joined *intent
	// did, where set, is the repository whose horizon is compared, as it was read
	// before the record (I7).
	did     string
	horizon int64
	// makes are the compares of an ingest that makes an object of a record that it
	// found (I5).
	makes []clientv3.Cmp
	// tombstones, where not 0, is the revision since which no intent of this object
	// may have been dropped: a put of that intent would not be recognized.
	tombstones int64
	// binds, where set, is the mount that the object is bound to now: no other object
	// may have the record or be about to, and the AtprotoRepo must not be closing.
	binds *mount
	// child, where set, is the collection whose child the object becomes.
	child *child
	// made, where set, gets etcd's revision of the view that was written.
	made *int64
	// identity of the record as it is already.
	identity *identity
}

func (s *Store) compares(ref objectRef, viewRevision int64, g guard) (cmps []clientv3.Cmp, ops []clientv3.Op, err error) {
	cmps = append(cmps, at(s.keys.view(ref), viewRevision))
	key := s.keys.intent(ref)
	if g.intent != nil {
		cmps = append(cmps, at(key, g.intent.modRevision))
		op := clientv3.OpDelete(key)
		if g.joined != nil {
			value, err := json.Marshal(g.joined)
			if err != nil {
				return nil, nil, fmt.Errorf("encode intent: %w", err)
			}
			op = clientv3.OpPut(key, string(value))
		}
		ops = append(ops, op)
	} else {
		cmps = append(cmps, absent(key))
	}
	if g.tombstones != 0 {
		dropped := s.keys.tombstones(ref)
		cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(dropped), "<", g.tombstones+1).WithRange(clientv3.GetPrefixRangeEnd(dropped)))
	}
	cmps = append(cmps, g.makes...)
	if g.did != "" {
		cmps = append(cmps, at(s.keys.horizon(ref.workspace, g.did), g.horizon))
	}
	return cmps, ops, nil
}

// errMoved says that a transaction's compares did not hold: the view, the intent,
// the fence or the horizon moved, and the caller must look again.
var errMoved = errors.New("the view moved")

// putView writes obj with its stamp over exactly v (v.revision 0: creates it) and
// decodes what was stored into out, which may be nil.
func (s *Store) putView(ctx context.Context, ref objectRef, v view, obj runtime.Object, st stamp, g guard, out runtime.Object, extra ...clientv3.Op) error {
	data, err := s.encode(obj)
	if err != nil {
		return err
	}
	value, err := s.seal(ctx, ref, data, st)
	if err != nil {
		return err
	}
	cmps, ops, err := s.compares(ref, v.revision, g)
	if err != nil {
		return err
	}
	if uri, ok := parseURI(st.URI); ok && g.binds != nil {
		if err := s.hub.accepts(g.binds); err != nil {
			return err
		}
		// A creation of this record may have put it, and not made its object yet.
		creator := makeRef(s.resourcePrefix, ref.workspace, NameOf(uri.RKey))
		cmps = append(cmps, s.hub.notClosing(g.binds), absent(s.keys.uid(s.resource.Resource, ref.workspace, uri.did, uri.RKey)),
			absent(s.keys.intent(creator)))
	}
	if g.child != nil {
		cmps = append(cmps, g.child.compares(s)...)
	}
	if !v.there() {
		// What was dropped before this object is none of its successors'.
		ops = append(ops, clientv3.OpDelete(s.keys.tombstones(ref), clientv3.WithPrefix()))
	}
	ops = append(ops, clientv3.OpPut(s.keys.view(ref), value))
	ops = append(ops, s.identityOps(ref, v.stamp, st, obj, g.identity)...)
	resp, err := s.txn(ctx, "putView", cmps, append(ops, extra...))
	if err != nil {
		return err
	}
	if !resp.Succeeded && g.binds != nil {
		if err := s.hub.closed(ctx, g.binds); err != nil {
			return err
		}
	}
	if !resp.Succeeded {
		return errMoved
	}
	if g.made != nil {
		*g.made = resp.Header.Revision
	}
	if out == nil {
		return nil
	}
	return s.decodeInto(data, resp.Header.Revision, out)
}

// deleteView deletes exactly v. It bumps the fence of its repository (I5), and
// decodes the last state, at the revision of the deletion, into out.
func (s *Store) deleteView(ctx context.Context, ref objectRef, v view, rev string, g guard, out runtime.Object, extra ...clientv3.Op) error {
	cmps, ops, err := s.compares(ref, v.revision, g)
	if err != nil {
		return err
	}
	ops = append(ops, clientv3.OpDelete(s.keys.view(ref)))
	if uri, ok := parseURI(v.stamp.URI); ok {
		ops = append(ops, s.bumpFence(ref.workspace, uri.did, rev),
			clientv3.OpDelete(s.keys.uid(s.resource.Resource, ref.workspace, uri.did, uri.RKey)))
	}
	resp, err := s.txn(ctx, "deleteView", cmps, append(ops, extra...))
	if err != nil {
		return err
	}
	if !resp.Succeeded {
		return errMoved
	}
	if out == nil {
		return nil
	}
	return s.decodeInto(v.data, resp.Header.Revision, out)
}
