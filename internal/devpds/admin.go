package devpds

import (
	"context"
	"strings"

	"github.com/bluesky-social/indigo/atproto/syntax"
)

// Subjects of com.atproto.admin.updateSubjectStatus.
const (
	subjectRepo   = "com.atproto.admin.defs#repoRef"
	subjectRecord = "com.atproto.repo.strongRef"
)

// updateSubjectStatus is com.atproto.admin.updateSubjectStatus: takedown of an
// account or a record, deactivation of an account.
func (s *Server) updateSubjectStatus(r *request) (any, error) {
	subject, ok := r.body["subject"].(object)
	if !ok {
		return nil, invalidRequest("Missing required key %q at $", "subject")
	}
	takedown, _ := r.body["takedown"].(object)
	deactivated, _ := r.body["deactivated"].(object)
	down, _ := takedown["applied"].(bool)
	off, _ := deactivated["applied"].(bool)
	if takedown != nil && down && deactivated != nil && !off {
		return nil, invalidRequest("Cannot activate and takedown an account at the same time")
	}
	ref, _ := takedown["ref"].(string)
	if down {
		ref = or(ref, formatTime(s.clock.Now()))
	} else {
		ref = ""
	}
	var err error
	switch subject["$type"] {
	case subjectRepo:
		did, _ := subject["did"].(string)
		err = s.setAccountStatus(r.ctx, did, takedown != nil, ref, deactivated != nil, off)
	case subjectRecord:
		at, _ := subject["uri"].(string)
		if takedown != nil {
			err = s.takedownRecord(r.ctx, at, ref != "")
		}
	default:
		err = invalidRequest("Invalid subject (%v)", subject["$type"])
	}
	if err != nil {
		return nil, err
	}
	out := object{"subject": subject}
	if takedown != nil {
		out["takedown"] = takedown
	}
	return out, nil
}

// setAccountStatus applies what the call names, or announces the status as it is.
func (s *Server) setAccountStatus(ctx context.Context, did string, takedown bool, ref string, deactivated, off bool) error {
	if err := checkDID(did, "$.subject.did"); err != nil {
		return err
	}
	if takedown {
		if err := s.takedownAccount(ctx, did, ref); err != nil {
			return err
		}
	}
	switch {
	case deactivated && off:
		return s.deactivate(ctx, did)
	case deactivated:
		return s.activate(ctx, did)
	case takedown:
		return nil
	}
	a := s.findAccount(did)
	return s.publish(ctx, change{}, []message{accountMessage(did, a.status())}, func() {})
}

// takedownAccount sets or clears ("") the takedown, and ends the sessions.
func (s *Server) takedownAccount(ctx context.Context, did, ref string) error {
	if s.findAccount(did) == nil { // the reference updates nothing and announces it
		return s.publish(ctx, change{}, []message{accountMessage(did, "deleted")}, func() {})
	}
	_, err := s.updateAccountAnd(ctx, did, true, func(a *account) ([]message, error) {
		a.TakedownRef = ref
		return []message{accountMessage(did, a.status())}, nil
	})
	return err
}

// takedownRecord hides a record from readers, or shows it again. There is no
// event, and the repository doesn't change.
func (s *Server) takedownRecord(ctx context.Context, at string, down bool) error {
	u, err := syntax.ParseATURI(at)
	if err != nil {
		return invalidRequest("Invalid AT URI (got %q) at $.subject.uri", at)
	}
	repo := s.repository(u.Authority().String())
	if repo == nil {
		return internalError() // the reference has no store to open
	}
	path := strings.TrimPrefix(u.Path(), "/")
	repo.mu.Lock()
	defer repo.mu.Unlock()
	cur := repo.cur.Load()
	rec, ok := cur.record(path)
	if !ok || rec.takedown == down {
		return nil
	}
	rec.takedown = down
	next := cur.fork()
	next.records.ReplaceOrInsert(rec)
	return s.publish(ctx, change{repo: &repoChange{did: repo.did, records: []record{rec}}}, nil, func() {
		repo.cur.Store(next)
	})
}
