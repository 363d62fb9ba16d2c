package repostore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apiserver/pkg/storage"
)

// lostKV is an etcd whose answers to transactions that write get lost.
type lostKV struct{ clientv3.KV }

func (l lostKV) Txn(ctx context.Context) clientv3.Txn { return &lostTxn{Txn: l.KV.Txn(ctx)} }

type lostTxn struct {
	clientv3.Txn
	writes bool
}

func (t *lostTxn) If(cmps ...clientv3.Cmp) clientv3.Txn { t.Txn = t.Txn.If(cmps...); return t }
func (t *lostTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	t.writes = slices.ContainsFunc(ops, func(op clientv3.Op) bool { return !op.IsGet() })
	t.Txn = t.Txn.Then(ops...)
	return t
}

func (t *lostTxn) Commit() (*clientv3.TxnResponse, error) {
	resp, err := t.Txn.Commit()
	if err == nil && t.writes {
		return nil, status.Error(codes.Unavailable, "error reading from server: EOF")
	}
	return resp, err
}

// A write that no record shows is etcd's alone: where its answer is lost, it may stand.
func TestPrivateWritesUnanswered(t *testing.T) {
	r := alone(t)
	r.hub.SetRepo(MountedRepo{Workspace: r.ws, Name: testRepo, Repo: r.repo, Source: r.src, Access: AccessReadWrite}) // no default: objects are private
	etcd := r.hub.etcd
	lost := clientv3.NewCtxClient(t.Context())
	lost.KV, lost.Lease, lost.Watcher = lostKV{etcd.KV}, etcd.Lease, etcd.Watcher
	generated := aWidget("g-1", "x")
	generated.GenerateName = "g-"
	for _, c := range []struct {
		name  string
		write func() error
		again bool
	}{
		{"a creation", func() error { _, err := r.create(r.ctx(), aWidget("c", "x")); return err }, true},
		{"one by generateName", func() error { _, err := r.create(r.ctx(), generated); return err }, false},
		{"an update", func() error { _, err := r.label(r.ctx(), "c", "l"); return err }, true},
		{"a deletion", func() error { return r.delete(r.ctx(), "c") }, true},
	} {
		r.hub.etcd = lost
		err := c.write()
		r.hub.etcd = etcd
		wantUnknown(t, c.name, err, c.again)
	}
	if r.repo.value(recordKey("g-1")) != nil {
		t.Error("there is a record")
	}
	if _, err := r.get(r.ctx(), "g-1"); err != nil {
		t.Errorf("what was created: %v", err)
	}
	if _, err := r.get(r.ctx(), "c"); !storage.IsNotFound(err) {
		t.Errorf("what was deleted: %v", err)
	}
}

// What etcd refused, and what never reached it, isn't told as unknown.
func TestMaybeCommitted(t *testing.T) {
	for want, errs := range map[bool][]error{
		true: {
			rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrLeaderChanged, rpctypes.ErrStopped,
			status.Error(codes.Unavailable, "error reading from server: EOF"), status.Error(codes.Unknown, "?"), status.Error(codes.Internal, "stream reset"),
		},
		false: {
			nil, errMoved, rpctypes.ErrNoLeader, rpctypes.ErrNoSpace, rpctypes.ErrTooManyRequests, context.Canceled, errors.New("encode"),
			status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:2379: connect: connection refused"`),
			status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: EOF"`),
			status.Error(codes.ResourceExhausted, "trying to send message larger than max"), status.Error(codes.Unauthenticated, "no"),
		},
	} {
		for _, err := range errs {
			if err != nil {
				err = fmt.Errorf("etcd transaction putView: %w", err)
			}
			if maybeCommitted(err) != want {
				t.Errorf("%v: %t, want %t", err, !want, want)
			}
		}
	}
}
