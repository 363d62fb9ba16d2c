package apiserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/bluesky-social/indigo/atproto/syntax"

	"socialweb.computer/infra-apiserver/internal/repostore"
)

// executePolicy is server policy: whose records may be executed on the word of a
// workspace.
type executePolicy map[inWorkspaceDID]bool

// inWorkspaceDID is an account, in one workspace or in any ("*").
type inWorkspaceDID struct{ workspace, did string }

func newExecutePolicy(entries []string) (executePolicy, error) {
	p := executePolicy{}
	for _, entry := range entries {
		ws, did, one := strings.Cut(entry, "/")
		if !one {
			ws, did = repostore.AllWorkspaces, entry
		}
		if _, err := syntax.ParseDID(did); err != nil || one && !repostore.ValidWorkspace(ws) {
			return nil, fmt.Errorf("%s %q: is no account: write it like did:plc:…, or WORKSPACE/did:plc:… for one workspace", flagKCPExecution, entry)
		}
		if ws == repostore.DefaultWorkspace {
			return nil, fmt.Errorf("%s %q: the users of the workspace %s are known: grant them the verb execute", flagKCPExecution, entry, ws)
		}
		p[inWorkspaceDID{ws, did}] = true
	}
	return p, nil
}

// ask implements execution.Policy. It is asked about the workspaces of kcp alone: their
// users aren't known here.
func (p executePolicy) ask(ctx context.Context, did string) (may, asked bool) {
	e := entryFrom(ctx)
	if e == nil || e.workspace == repostore.DefaultWorkspace {
		return false, false
	}
	return p[inWorkspaceDID{repostore.AllWorkspaces, did}] || p[inWorkspaceDID{e.workspace, did}], true
}
