package repostore

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// wantUnknown checks that a client is told that the outcome of its write is unknown, and
// whether it is told to send it again.
func wantUnknown(t *testing.T, what string, err error, again bool) {
	t.Helper()
	if seconds, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsTimeout(err) || ok != again || ok && seconds < 1 {
		t.Errorf("%s: %v, again after %d s: %t", what, err, seconds, ok)
	}
}

// A write whose outcome nobody knows says when to send it again, unless that would do
// something else.
func TestUnknownOutcomeIsSentAgain(t *testing.T) {
	r := alone(t)
	patched := aWidget("p", "x")
	if _, err := r.create(r.ctx(), patched); err != nil {
		t.Fatal(err)
	}
	r.repo.setDown(atproto.ErrUnknownOutcome)
	generated := aWidget("g-1", "x")
	generated.GenerateName = "g-"
	for _, c := range []struct {
		name  string
		write func() error
		again bool
	}{
		{"a creation", func() error { _, err := r.create(r.ctx(), aWidget("c", "x")); return err }, true},
		{"one by generateName", func() error { _, err := r.create(r.ctx(), generated); return err }, false},
		{"an update that is sent once", func() error {
			_, err := r.update(Once(r.ctx()), "p", "", func(w *widget) error { w.Spec.Text = "once"; return nil })
			return err
		}, false},
	} {
		wantUnknown(t, c.name, c.write(), c.again)
	}
}

// What is refused, or can't be sent at all, is as it was.
func TestWhatIsKnownIsSentAgain(t *testing.T) {
	ctx := Once(context.Background())
	for _, err := range []error{nil, unavailable(atproto.ErrUnavailable), apierrors.NewConflict(noResource, "a", ErrContended)} {
		if got := notAgain(ctx, runtime.Object(nil), err); got != err { //nolint:errorlint // the same
			t.Errorf("%v became %v", err, got)
		}
	}
}

// downKV is an etcd that isn't there.
type downKV struct{ clientv3.KV }

func (downKV) Txn(context.Context) clientv3.Txn { return downTxn{} }
func (downKV) Get(context.Context, string, ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return nil, rpctypes.ErrNoLeader
}

type downTxn struct{}

func (t downTxn) If(...clientv3.Cmp) clientv3.Txn      { return t }
func (t downTxn) Then(...clientv3.Op) clientv3.Txn     { return t }
func (t downTxn) Else(...clientv3.Op) clientv3.Txn     { return t }
func (downTxn) Commit() (*clientv3.TxnResponse, error) { return nil, rpctypes.ErrNoLeader }

// Where etcd goes once the record was written, the write comes to be all the same: it is
// told as unknown, never as not done, and no object by generateName is created again.
func TestWhatStandsIsNotSentAgain(t *testing.T) {
	r := alone(t)
	for _, name := range []string{"updated", "deleted"} {
		if _, err := r.create(r.ctx(), aWidget(name, "x")); err != nil {
			t.Fatal(err)
		}
	}
	hub, etcd := r.store.hub, r.store.hub.etcd
	hub.failpoint = func(point string) bool {
		if strings.HasSuffix(point, ".before-view") {
			hub.etcd = &clientv3.Client{KV: downKV{}}
		}
		return false
	}
	generated := aWidget("g-1", "x")
	generated.GenerateName = "g-"
	for _, c := range []struct {
		name  string
		write func() error
		text  any // of its record
		again bool
	}{
		{"named", func() error { _, err := r.create(r.ctx(), aWidget("named", "x")); return err }, "x", true},
		{"g-1", func() error { _, err := r.create(r.ctx(), generated); return err }, "x", false},
		{"updated", func() error { _, err := r.update(r.ctx(), "updated", "", public("y", "l")); return err }, "y", true},
		{"deleted", func() error { return r.delete(r.ctx(), "deleted") }, nil, true},
	} {
		err := c.write()
		hub.etcd = etcd
		if wantUnknown(t, c.name, err, c.again); err != nil && !strings.Contains(err.Error(), ErrOvertaken.Error()) {
			t.Errorf("%s: %v, want %v", c.name, err, ErrOvertaken)
		}
		if text := r.repo.value(recordKey(c.name))["text"]; text != c.text {
			t.Errorf("%s: the record has %v", c.name, text)
		}
	}
}

// An object that is over etcd's limit is told to be that, whatever stands.
func TestOverLimitStaysSo(t *testing.T) {
	err := stood("put", recordURI{}, fmt.Errorf("view: %w", errOverLimit))
	if err = ToAPIError(err, noResource, "a"); !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("%v", err)
	}
}
