package devpds

import (
	"context"
	"fmt"
	"time"

	"github.com/bluesky-social/indigo/atproto/atcrypto"
)

// findAccount by handle or DID, whatever its status; nil if there is none.
func (s *Server) findAccount(handleOrDID string) *account {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.accounts.find(handleOrDID)
}

// repository of a DID that has an account.
func (s *Server) repository(did string) *repository {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.repos[did]
}

// createAccount makes an account with an empty repository.
func (s *Server) createAccount(ctx context.Context, handle, email, password string) (*account, error) {
	s.accountMu.Lock()
	defer s.accountMu.Unlock()
	if s.findAccount(handle) != nil {
		return nil, invalidRequest("Handle already taken: %s", handle)
	}
	key, err := atcrypto.GeneratePrivateKeyK256()
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	pub, err := key.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	a := &account{
		Handle: handle, Email: email, DID: newDID(pub.DIDKey(), handle),
		CreatedAt: s.nextCreatedAt(), SigningKey: key.Bytes(),
	}
	if a.Password, err = hashPassword(password, s.rounds()); err != nil {
		return nil, err
	}
	s.mu.RLock()
	clockID := uint(len(s.repos))
	s.mu.RUnlock()
	r, err := newRepository(a, newSnapshot(a.DID), clockID)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	return a, s.buildInitial(ctx, r, a)
}

// nextCreatedAt is now, but at least a millisecond after the newest account, so
// that listRepos shows accounts in the order of their creation; accountMu is held.
func (s *Server) nextCreatedAt() time.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	at := s.clock.Now().Truncate(time.Millisecond)
	for _, a := range s.accounts.byDID {
		if !at.After(a.CreatedAt) {
			at = a.CreatedAt.Add(time.Millisecond)
		}
	}
	return at
}

// buildInitial makes the first commit of a new account, with its events, in the
// order of the reference PDS: #identity, #account, #commit, #sync.
func (s *Server) buildInitial(ctx context.Context, r *repository, a *account) error {
	cur := r.cur.Load()
	root, err := r.tree.RootCID()
	if err != nil {
		return fmt.Errorf("encode MST: %w", err)
	}
	nd := r.tree.Root.NodeData()
	node, _, err := nd.Bytes()
	if err != nil {
		return fmt.Errorf("encode MST node: %w", err)
	}
	d := newDraft(cur, nextTID(s.clock.Now(), r.clockID, ""))
	commit, data, err := r.sign(*root, d.next.rev)
	if err != nil {
		return err
	}
	d.put(commit, data)
	d.put(*root, node)
	d.next.commit, d.next.data = commit, *root
	d.change.commit, d.change.rev = commit, d.next.rev
	messages, err := s.commitMessages(cur, d.next, nil, []carBlock{{commit, data}, {*root, node}})
	if err != nil {
		return err
	}
	sync, err := syncMessage(d.next)
	if err != nil {
		return err
	}
	messages = append(append([]message{identityMessage(a), accountMessage(a.DID, "")}, messages...), sync)
	return s.publish(ctx, change{accounts: []*account{a}, repo: &d.change}, messages, func() {
		r.cur.Store(d.next)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.accounts.put(a)
		s.repos[a.DID] = r
	})
}

// updateAccount replaces an account by what edit makes of a copy, and sequences
// the events that edit returns.
func (s *Server) updateAccount(ctx context.Context, did string, edit func(*account) ([]message, error)) (*account, error) {
	return s.updateAccountAnd(ctx, did, false, edit)
}

// updateAccountAnd also ends the account's sessions, in the same transaction, if
// revoke is set.
func (s *Server) updateAccountAnd(ctx context.Context, did string, revoke bool, edit func(*account) ([]message, error)) (*account, error) {
	s.accountMu.Lock()
	defer s.accountMu.Unlock()
	old := s.findAccount(did)
	if old == nil {
		return nil, badRequest("AccountNotFound", "Account not found")
	}
	a := old.clone()
	messages, err := edit(a)
	if err != nil {
		return nil, err
	}
	c := change{accounts: []*account{a}}
	if revoke {
		c.revoked = s.tokensOf(did)
	}
	return a, s.publish(ctx, c, messages, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.accounts.put(a)
		for _, id := range c.revoked {
			delete(s.tokens, id)
		}
	})
}

// setPassword of an account.
func (s *Server) setPassword(did, password string) (*account, error) {
	hash, err := hashPassword(password, s.rounds())
	if err != nil {
		return nil, err
	}
	return s.updateAccount(context.Background(), did, func(a *account) ([]message, error) {
		a.Password = hash
		return nil, nil
	})
}

// rounds of password hashing.
func (s *Server) rounds() int {
	if s.config.Memory {
		return roundsMemory
	}
	return roundsDisk
}

// tokensOf are the ids of an account's refresh tokens.
func (s *Server) tokensOf(did string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var ids []string
	for id, t := range s.tokens {
		if t.DID == did {
			ids = append(ids, id)
		}
	}
	return ids
}
