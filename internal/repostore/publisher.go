package repostore

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/metrics"
)

// The observed status is ours. A status write is one transaction in etcd and
// never waits for the PDS; the publisher brings it to the record, later, as few
// times as possible: changes of an object are collected for a while, one that
// leaves the record's status as it is costs nothing, and what an edit made
// elsewhere changed or dropped is written back. One replica publishes.

// contestLimit is how often in a row somebody may replace a status of ours before
// we stop writing it back: two deployments on one account don't fight for ever.
const contestLimit = 3

// item is an object in the publisher's line.
type item struct {
	store *Store
	ref   objectRef
}

// publishing follows the views and works their statuses off. Each workspace has a
// line of its own: one whose PDS hangs keeps no other tenant waiting.
func (h *Hub) publishing(ctx context.Context) error {
	lines := h.newPublishLines(ctx)
	defer h.unpublished.begin()()
	defer lines.queue.ShutDown()
	return h.followViews(ctx, func(it item) {
		h.unpublished.add(it, h.clock.Now())
		lines.queue.AddAfter(it, h.publishDelay)
	})
}

func (h *Hub) publishItem(ctx context.Context, queue workqueue.TypedRateLimitingInterface[item], it item) {
	if ctx.Err() != nil {
		return // the next publisher finds it
	}
	since := h.unpublished.take(it)
	// One that has begun comes to its end: cut off, it could leave an intent that
	// keeps writers waiting for its term.
	toEnd, cancel := h.outlive(ctx)
	defer cancel()
	err := it.store.publishOne(toEnd, it.ref)
	if err == nil {
		queue.Forget(it)
		return
	}
	if ctx.Err() != nil {
		return
	}
	h.unpublished.putBack(it, since)
	klog.FromContext(ctx).V(2).Info("Status not published yet", "object", klog.KRef(it.ref.workspace, it.ref.name), "err", err)
	if wait := atproto.RetryAfter(err); wait > 0 {
		queue.AddAfter(it, wait)
		return
	}
	queue.AddRateLimited(it)
}

// outlive is a context that ends when ctx did so a put's time ago.
func (h *Hub) outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-h.clock.After(h.putTimeout):
			cancel()
		case <-out.Done():
		}
	})
	return out, func() {
		stop()
		cancel()
	}
}

// followViews names every object, and then each that changes, until ctx ends or
// the watch breaks.
func (h *Hub) followViews(ctx context.Context, add func(item)) error {
	prefix := h.keys.views() + "/"
	find := func(key string) {
		objectKey := strings.TrimPrefix(key, h.keys.views())
		for _, s := range h.allStores() {
			if strings.HasPrefix(objectKey, strings.TrimSuffix(s.resourcePrefix, "/")+"/") {
				add(item{s, parseRef(s.resourcePrefix, objectKey)})
			}
		}
	}
	resp, err := h.etcd.Get(ctx, prefix, clientv3.WithLastRev()...)
	if err != nil {
		return fmt.Errorf("read views: %w", err)
	}
	below := func(prefix string) error {
		return h.eachKey(ctx, prefix, func(key string, _ []byte, _ int64) error { find(key); return nil })
	}
	defer h.remounted.begin()()
	if err := below(prefix); err != nil {
		return err
	}
	watch := h.etcd.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(resp.Header.Revision+1), clientv3.WithFilterDelete())
	for {
		select {
		case <-h.remounted.token:
			for _, ws := range h.remounted.take() {
				for _, s := range h.allStores() {
					if err := below(h.keys.views() + makeRef(s.resourcePrefix, ws, "").key); err != nil {
						return err
					}
				}
			}
		case w, open := <-watch:
			if !open {
				return ctx.Err()
			}
			if err := w.Err(); err != nil {
				return fmt.Errorf("watch views: %w", err)
			}
			for _, e := range w.Events {
				find(string(e.Kv.Key))
			}
		}
	}
}

// publishOne makes the record's status the object's, if it isn't, and the
// direction InSync. It pauses, with nothing to do, for records that are invalid,
// gone or contested, and for repositories that are not ours to write.
func (s *Store) publishOne(ctx context.Context, ref objectRef) (err error) {
	ctx, span := s.objectSpan(ctx, "publish", ref)
	defer func() { span.End(kindOf(err)) }()
	sn, err := s.look(ctx, ref)
	if err != nil || !sn.there() || !sn.stamp.bound() || sn.stamp.orphaned() || sn.stamp.Invalid != "" {
		return err
	}
	m, uri, err := s.mountFor(ref.workspace, sn.stamp.URI)
	if err != nil {
		return err
	}
	if m.Access != AccessReadWrite {
		return nil
	}
	if sn.intent != nil {
		return ErrBusy
	}
	ours, err := s.renderedStatus(sn.view, sn.obj)
	if err != nil {
		return err
	}
	obj := sn.obj.DeepCopyObject()
	switch {
	case ours == sn.stamp.Status:
		return s.markInSync(ctx, ref, sn, obj)
	case ours == sn.stamp.Published && sn.stamp.Overwritten >= contestLimit:
		return nil
	}
	if ours != sn.stamp.Published {
		s.clearCondition(obj, ConditionStatusContested, "Uncontested", "the status changed and was published again")
	}
	done, err := s.try(ctx, publicWrite{op: opUpdate, ref: ref, mount: m, uri: uri, base: sn.view, obj: obj, direction: InSync}, s.mapper.New())
	metrics.Published(err == nil && done == finished)
	if err == nil && done != finished {
		return ErrBusy // lost a race: look again
	}
	return err
}

// markInSync says that nothing is left to be written.
func (s *Store) markInSync(ctx context.Context, ref objectRef, sn snapshot, obj runtime.Object) error {
	rs := s.mapper.RecordStatus(obj)
	if rs == nil || rs.Direction == InSync {
		return nil
	}
	rs.Direction = InSync
	s.mapper.SetRecordStatus(obj, rs)
	return s.putView(ctx, ref, sn.view, obj, sn.stamp, guard{}, nil)
}

// renderedStatus is the digest of the status that obj's record should hold.
func (s *Store) renderedStatus(v view, obj runtime.Object) (string, error) {
	remainder, err := v.remainder()
	if err != nil {
		return "", err
	}
	record, err := s.mapper.Encode(obj, remainder)
	if err != nil {
		return "", err
	}
	return statusDigest(record)
}

// countOverwrite is called by the ingest of an edit made elsewhere: it counts the
// edits that do nothing but put another status in place of the one that we had
// published. A client that edits a record and drops its status contests nothing.
func (s *Store) countOverwrite(sn snapshot, obj runtime.Object, declarationChanged bool, st *stamp) error {
	ours, err := s.renderedStatus(sn.view, obj)
	if err != nil {
		return err
	}
	if declarationChanged || st.Status == "" || st.Status == ours || ours != sn.stamp.Published {
		return nil
	}
	st.Overwritten++
	if st.Overwritten >= contestLimit {
		s.setCondition(obj, metav1.Condition{
			Type: ConditionStatusContested, Status: metav1.ConditionTrue, Reason: "ForeignWriter",
			Message: "somebody else keeps replacing this status in the record; it is written again once it changes. Is a second deployment using this account?",
		})
	}
	return nil
}
