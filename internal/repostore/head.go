package repostore

import (
	"context"
	"fmt"

	"socialweb.computer/infra-apiserver/internal/atproto"
)

// latestHead asks for the head of the repository. Nothing proves the answer: a rev
// that can't be one yet is no answer, and is not remembered, for no commit would
// ever reach it.
func (m *mount) latestHead(ctx context.Context) (atproto.Commit, error) {
	head, err := m.Repo.LatestCommit(ctx)
	if err == nil && !believable(head.Rev, m.hub.clock.Now()) {
		return atproto.Commit{}, fmt.Errorf("%w: getLatestCommit answers rev %.32q, which is no TID of up to now; if its clock is right, is ours?", atproto.ErrBadData, head.Rev)
	}
	return head, err
}
