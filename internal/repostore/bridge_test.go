package repostore

import (
	"context"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// bridge lets goroutines of a synctest bubble use an etcd that lives outside of
// it: every call runs on a goroutine of the bridge. Before a call, whoever
// schedules the bubble has its say; after it, the views that it changed are
// recorded.
type bridge struct {
	clientv3.KV
	clientv3.Lease
	calls chan *bridgeCall
	free  chan *bridgeCall
}

// bridgeCall is made outside of any bubble, as its channel must be.
type bridgeCall struct {
	run  func()
	done chan struct{}
}

// bridged is a client of the shared etcd for use within bubbles.
func bridged(t testing.TB) *clientv3.Client {
	etcd := sharedEtcd(t)
	const width = 16
	b := &bridge{KV: etcd.KV, Lease: etcd.Lease, calls: make(chan *bridgeCall), free: make(chan *bridgeCall, width)}
	for range width {
		b.free <- &bridgeCall{done: make(chan struct{})}
		go func() {
			for c := range b.calls {
				c.run()
				c.done <- struct{}{}
			}
		}()
	}
	t.Cleanup(func() { close(b.calls) })
	c := clientv3.NewCtxClient(context.Background())
	c.KV, c.Lease = b, b
	t.Cleanup(func() { _ = c.Close() }) // cancels a context
	return c
}

// Close resolves the ambiguity of what is embedded; the shared client stays.
func (b *bridge) Close() error { return nil }

func (b *bridge) do(f func()) {
	c := <-b.free
	c.run = f
	b.calls <- c
	<-c.done
	b.free <- c
}

// outside is the context of calls: one of the bubble must not leave it.
var outside = context.Background()

// Get implements clientv3.KV.
func (b *bridge) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (resp *clientv3.GetResponse, err error) {
	if err := beforeEtcd(ctx, "get "+part(key)); err != nil {
		return nil, err
	}
	b.do(func() { resp, err = b.KV.Get(outside, key, opts...) })
	return resp, err
}

// Revoke implements clientv3.Lease.
func (b *bridge) Revoke(ctx context.Context, id clientv3.LeaseID) (resp *clientv3.LeaseRevokeResponse, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.do(func() { resp, err = b.Lease.Revoke(outside, id) })
	return resp, err
}

// Grant implements clientv3.Lease.
func (b *bridge) Grant(ctx context.Context, ttl int64) (resp *clientv3.LeaseGrantResponse, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.do(func() { resp, err = b.Lease.Grant(outside, ttl) })
	return resp, err
}

// Txn implements clientv3.KV.
func (b *bridge) Txn(ctx context.Context) clientv3.Txn { return &bridgeTxn{bridge: b, ctx: ctx} }

// bridgeTxn collects a transaction and commits it outside.
type bridgeTxn struct {
	bridge *bridge
	ctx    context.Context
	cmps   []clientv3.Cmp
	then   []clientv3.Op
	orElse []clientv3.Op
}

func (t *bridgeTxn) If(cs ...clientv3.Cmp) clientv3.Txn {
	t.cmps = append(t.cmps, cs...)
	return t
}

func (t *bridgeTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	t.then = append(t.then, ops...)
	return t
}

func (t *bridgeTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	t.orElse = append(t.orElse, ops...)
	return t
}

func (t *bridgeTxn) Commit() (resp *clientv3.TxnResponse, err error) {
	if err := beforeEtcd(t.ctx, describe(t.then)); err != nil {
		return nil, err
	}
	t.bridge.do(func() { resp, err = t.bridge.KV.Txn(outside).If(t.cmps...).Then(t.then...).Else(t.orElse...).Commit() })
	r := schedReplicaFrom(t.ctx)
	if err != nil || !resp.Succeeded || r == nil {
		return resp, err
	}
	if wrote := r.sched.recordViews(actorFrom(t.ctx), resp.Header.Revision, t.then); wrote && !r.late && r.loseAnswer("etcd") {
		return nil, fmt.Errorf("answer lost: %w", context.DeadlineExceeded)
	}
	return resp, err
}

// describe names a transaction by what it writes.
func describe(ops []clientv3.Op) string {
	var words []string
	for _, op := range ops {
		switch {
		case op.IsPut():
			words = append(words, "put "+part(string(op.KeyBytes())))
		case op.IsDelete():
			words = append(words, "delete "+part(string(op.KeyBytes())))
		}
	}
	if len(words) == 0 {
		return "look"
	}
	return strings.Join(words, ", ")
}

// part is the part of the key space that a key lies in.
func part(key string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(key, schedPrefix), "/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}
