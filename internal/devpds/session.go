package devpds

import "strings"

// sessionView is what the session calls answer about an account.
func sessionView(a *account) object {
	out := object{"did": a.DID, "handle": a.Handle, "emailConfirmed": false, "active": a.status() == ""}
	if a.Email != "" {
		out["email"] = a.Email
	}
	if st := a.status(); st != "" {
		out["status"] = st
	}
	return out
}

// parseLogin wants identifier and password.
func parseLogin(r *request) error {
	if _, err := r.text("identifier"); err != nil {
		return err
	}
	_, err := r.text("password")
	return err
}

// createSession is com.atproto.server.createSession, with the account's password
// or an app password.
func (s *Server) createSession(r *request) (any, error) {
	identifier, password := r.body["identifier"].(string), r.body["password"].(string)
	a := s.login(strings.ToLower(identifier))
	if a == nil {
		return nil, authRequired("", "Invalid identifier or password")
	}
	scope, app := scopeAccess, ""
	if !a.Password.matches(password) {
		p := a.appPassword(password)
		if p == nil || a.TakedownRef != "" {
			return nil, authRequired("", "Invalid identifier or password")
		}
		scope, app = scopeAppPass, p.Name
		if p.Privileged {
			scope = scopeAppPassPrivileged
		}
	}
	if a.TakedownRef != "" {
		if allow, _ := r.body["allowTakendown"].(bool); !allow {
			return nil, authRequired("AccountTakedown", "Account has been taken down")
		}
		scope = scopeTakendown
	}
	pair, err := s.openSession(r, a, scope, app)
	if err != nil {
		return nil, err
	}
	out := sessionView(a)
	out["accessJwt"], out["refreshJwt"] = pair.access, pair.refresh
	return out, nil
}

// login finds an account by handle, DID or e-mail address.
func (s *Server) login(identifier string) *account {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if strings.Contains(identifier, "@") {
		return s.accounts.byEmail(identifier)
	}
	return s.accounts.find(identifier)
}

// appPassword that matches, or nil.
func (a *account) appPassword(password string) *appPassword {
	for i := range a.AppPasswords {
		if a.AppPasswords[i].Password.matches(password) {
			return &a.AppPasswords[i]
		}
	}
	return nil
}

// openSession issues tokens and keeps the refresh token, except for an account
// that is taken down.
func (s *Server) openSession(r *request, a *account, scope, app string) (tokenPair, error) {
	t := refreshToken{ID: newTokenID(), DID: a.DID, AppPassword: app, ExpiresAt: s.clock.Now().Add(s.config.RefreshTTL)}
	pair, err := s.issue(a.DID, scope, t.ID)
	if err != nil || scope == scopeTakendown {
		return pair, err
	}
	s.accountMu.Lock()
	defer s.accountMu.Unlock()
	return pair, s.changeTokens(r, []refreshToken{t}, nil)
}

// changeTokens writes and drops refresh tokens; accountMu is held.
func (s *Server) changeTokens(r *request, put []refreshToken, drop []string) error {
	return s.publish(r.ctx, change{tokens: put, revoked: drop}, nil, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, id := range drop {
			delete(s.tokens, id)
		}
		for _, t := range put {
			s.tokens[t.ID] = t
		}
	})
}

// token by id.
func (s *Server) token(id string) (refreshToken, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, ok := s.tokens[id]
	return t, ok
}

// refreshSession is com.atproto.server.refreshSession. A used token lives on for
// a grace time and gives the same successor again.
func (s *Server) refreshSession(r *request) (any, error) {
	a := s.findAccount(r.auth.did)
	if a == nil {
		return nil, invalidRequest("Could not find user info for account: %s", r.auth.did)
	}
	if a.TakedownRef != "" {
		return nil, authRequired("AccountTakedown", "Account has been taken down")
	}
	s.accountMu.Lock()
	defer s.accountMu.Unlock()
	old, ok := s.token(r.auth.tokenID)
	now := s.clock.Now()
	if !ok || !now.Before(old.ExpiresAt) {
		return nil, badRequest("ExpiredToken", "Token has been revoked")
	}
	if grace := now.Add(refreshGrace); grace.Before(old.ExpiresAt) {
		old.ExpiresAt = grace
	}
	old.NextID = or(old.NextID, newTokenID())
	put := []refreshToken{old}
	if _, exists := s.token(old.NextID); !exists {
		put = append(put, refreshToken{ID: old.NextID, DID: a.DID, AppPassword: old.AppPassword, ExpiresAt: now.Add(s.config.RefreshTTL)})
	}
	pair, err := s.issue(a.DID, scopeOf(a, old.AppPassword), old.NextID)
	if err != nil {
		return nil, err
	}
	if err := s.changeTokens(r, put, s.expiredTokens(a.DID)); err != nil {
		return nil, err
	}
	out := sessionView(a)
	out["accessJwt"], out["refreshJwt"] = pair.access, pair.refresh
	return out, nil
}

// scopeOf a session that an app password opened; "" is the account's password.
func scopeOf(a *account, app string) string {
	if app == "" {
		return scopeAccess
	}
	for _, p := range a.AppPasswords {
		if p.Name == app && p.Privileged {
			return scopeAppPassPrivileged
		}
	}
	return scopeAppPass
}

// expiredTokens of an account, to drop.
func (s *Server) expiredTokens(did string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var ids []string
	for id, t := range s.tokens {
		if t.DID == did && !s.clock.Now().Before(t.ExpiresAt) {
			ids = append(ids, id)
		}
	}
	return ids
}

// getSession is com.atproto.server.getSession.
func (s *Server) getSession(r *request) (any, error) {
	a := s.findAccount(r.auth.did)
	if a == nil || a.TakedownRef != "" {
		return nil, invalidRequest("Could not find user info for account: %s", r.auth.did)
	}
	return sessionView(a), nil
}

// deleteSession is com.atproto.server.deleteSession: it revokes the refresh token.
func (s *Server) deleteSession(r *request) (any, error) {
	s.accountMu.Lock()
	defer s.accountMu.Unlock()
	return nil, s.changeTokens(r, nil, []string{r.auth.tokenID})
}
