package devpds

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/bluesky-social/indigo/atproto/syntax"
)

// resolveHandle is com.atproto.identity.resolveHandle, of handles here.
func (s *Server) resolveHandle(r *request) (any, error) {
	handle := strings.ToLower(r.params.Get("handle"))
	if _, err := syntax.ParseHandle(handle); err != nil {
		return nil, invalidRequest("Invalid handle (got %q) at $.handle", handle)
	}
	if a := s.actor(handle); a != nil {
		return object{"did": a.DID}, nil
	}
	if strings.HasSuffix(handle, handleDomain) {
		return nil, badRequest("HandleNotFound", "Unable to resolve handle")
	}
	return nil, invalidRequest("Unable to resolve handle")
}

// didDocument of an account (https://atproto.com/specs/did): its signing key and
// this server.
func (s *Server) didDocument(a *account) (object, error) {
	key, err := a.key()
	if err != nil {
		return nil, err
	}
	pub, err := key.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("public key of %s: %w", a.DID, err)
	}
	return object{
		"@context": []string{
			"https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1",
			"https://w3id.org/security/suites/secp256k1-2019/v1",
		},
		"id":          a.DID,
		"alsoKnownAs": []string{"at://" + a.Handle},
		"verificationMethod": []object{{
			"id": a.DID + "#atproto", "type": "Multikey", "controller": a.DID, "publicKeyMultibase": pub.Multibase(),
		}},
		"service": []object{{
			"id": "#atproto_pds", "type": "AtprotoPersonalDataServer", "serviceEndpoint": s.url,
		}},
	}, nil
}

// serveDIDDocument answers GET /DID as a did:plc directory does.
func (s *Server) serveDIDDocument(w http.ResponseWriter, did string) {
	a := s.findAccount(did)
	if a == nil {
		writeJSON(w, http.StatusNotFound, object{"message": "DID not registered: " + did})
		return
	}
	doc, err := s.didDocument(a)
	if err != nil {
		writeJSON(w, http.StatusInternalServerError, object{"message": "Internal Server Error"})
		return
	}
	writeJSON(w, http.StatusOK, doc)
}
