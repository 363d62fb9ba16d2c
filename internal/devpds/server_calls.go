package devpds

import (
	"context"
	"errors"
	"strings"

	"github.com/bluesky-social/indigo/atproto/syntax"
)

// handleDomain is the domain of handles here.
const handleDomain = ".test"

// describeServer is com.atproto.server.describeServer.
func (s *Server) describeServer(*request) (any, error) {
	return object{
		"did": serviceDID, "availableUserDomains": []string{handleDomain}, "inviteCodeRequired": false,
		"links": object{}, "contact": object{},
	}, nil
}

// serveCreateAccount is com.atproto.server.createAccount.
func (s *Server) serveCreateAccount(r *request) (any, error) {
	handle, err := r.text("handle")
	if err != nil {
		return nil, err
	}
	if _, err := syntax.ParseHandle(handle); err != nil {
		return nil, invalidRequest("Invalid handle (got %q) at $.handle", handle)
	}
	email, err := r.optionalText("email")
	if err != nil {
		return nil, err
	}
	password, err := r.optionalText("password")
	if err != nil {
		return nil, err
	}
	handle = strings.ToLower(handle)
	switch {
	case email == "":
		return nil, invalidRequest("Email is required")
	case password == "":
		return nil, invalidRequest("Password is required")
	case !strings.HasSuffix(handle, handleDomain):
		return nil, badRequest("UnsupportedDomain", "Not a supported handle domain")
	}
	if s.login(email) != nil {
		return nil, invalidRequest("Email already taken: %s", email)
	}
	a, err := s.createAccount(r.ctx, handle, email, password)
	if err != nil {
		return nil, err
	}
	pair, err := s.openSession(r, a, scopeAccess, "")
	if err != nil {
		return nil, err
	}
	doc, err := s.didDocument(a)
	if err != nil {
		return nil, err
	}
	return object{"handle": a.Handle, "did": a.DID, "didDoc": doc, "accessJwt": pair.access, "refreshJwt": pair.refresh}, nil
}

// createAppPassword is com.atproto.server.createAppPassword.
func (s *Server) createAppPassword(r *request) (any, error) {
	name, err := r.text("name")
	if err != nil {
		return nil, err
	}
	privileged, err := r.flag("privileged")
	if err != nil {
		return nil, err
	}
	text := randomText(16)
	password := strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:]}, "-")
	hash, err := hashPassword(password, s.rounds())
	if err != nil {
		return nil, err
	}
	p := appPassword{Name: name, Privileged: privileged != nil && *privileged, CreatedAt: s.clock.Now(), Password: hash}
	_, err = s.updateAccount(r.ctx, r.auth.did, func(a *account) ([]message, error) {
		if a.TakedownRef != "" {
			return nil, authRequired("AccountTakedown", "Account has been taken down")
		}
		for _, old := range a.AppPasswords {
			if old.Name == name {
				return nil, internalError() // the reference's unique key
			}
		}
		a.AppPasswords = append(a.AppPasswords, p)
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	return object{"name": name, "password": password, "createdAt": formatTime(p.CreatedAt), "privileged": p.Privileged}, nil
}

// deactivateAccount is com.atproto.server.deactivateAccount.
func (s *Server) deactivateAccount(r *request) (any, error) {
	return nil, s.deactivate(r.ctx, r.auth.did)
}

// deactivate an account, with an #account event.
func (s *Server) deactivate(ctx context.Context, did string) error {
	_, err := s.updateAccount(ctx, did, func(a *account) ([]message, error) {
		a.DeactivatedAt = s.clock.Now()
		return []message{accountMessage(a.DID, a.status())}, nil
	})
	return renameNotFound(err, "InvalidRequest", "Account not found")
}

// activateAccount is com.atproto.server.activateAccount.
func (s *Server) activateAccount(r *request) (any, error) {
	return nil, s.activate(r.ctx, r.auth.did)
}

// activate an account, with #account, #identity and #sync events.
func (s *Server) activate(ctx context.Context, did string) error {
	repo := s.repository(did)
	if repo == nil {
		return badRequest("AccountNotFound", "user not found")
	}
	repo.mu.Lock() // so that the #sync event is the newest commit's
	defer repo.mu.Unlock()
	_, err := s.updateAccount(ctx, did, func(a *account) ([]message, error) {
		if a.TakedownRef != "" {
			return nil, badRequest("AccountNotFound", "user not found")
		}
		a.DeactivatedAt = account{}.DeactivatedAt
		sync, err := syncMessage(repo.cur.Load())
		return []message{accountMessage(a.DID, ""), identityMessage(a), sync}, err
	})
	return renameNotFound(err, "AccountNotFound", "user not found")
}

// renameNotFound gives AccountNotFound the name and text of a call.
func renameNotFound(err error, name, text string) error {
	var x *xrpcError
	if errors.As(err, &x) && x.name == "AccountNotFound" {
		return badRequest(name, "%s", text)
	}
	return err
}
