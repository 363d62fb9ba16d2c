package repostore

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bluesky-social/indigo/atproto/syntax"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// boaster is a PDS whose head is what the test says.
type boaster struct {
	*memRepo
	rev string // "": the truth
}

func (b *boaster) LatestCommit(ctx context.Context) (atproto.Commit, error) {
	c, err := b.memRepo.LatestCommit(ctx)
	if b.rev != "" {
		c.Rev = b.rev
	}
	return c, err
}

// A head that can't be one is an outage that ends with the next right answer.
func TestUnbelievableHead(t *testing.T) {
	r := alone(t)
	b := &boaster{memRepo: r.repo}
	r.mount(AccessReadWrite, func(m *MountedRepo) { m.Repo = b })
	if _, err := r.list(r.ctx()); err != nil {
		t.Fatal(err)
	}
	truth, _ := r.hub.RepoState(r.ws, testRepo)
	for _, rev := range []string{"zzzzzzzzzzzzz", "no TID", syntax.NewTIDFromTime(time.Now().Add(time.Hour), 1).String()} {
		b.rev = rev
		if _, err := r.list(r.ctx()); !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), rev) {
			t.Errorf("head %q: %v", rev, err)
		}
		r.hub.lookAt(r.ctx(), r.m())
		b.rev = ""
		if _, err := r.list(r.ctx()); err != nil {
			t.Errorf("after head %q: %v", rev, err)
		}
		if st, _ := r.hub.RepoState(r.ws, testRepo); st.Rev != truth.Rev || !st.CaughtUp {
			t.Errorf("after head %q: %+v", rev, st)
		}
	}
	b.rev = syntax.NewTIDFromTime(time.Now().Add(time.Minute), 1).String() // a clock that is a little ahead
	if _, err := r.m().latest(r.ctx()); err != nil {
		t.Errorf("a clock that is ahead: %v", err)
	}
}
