package devpds

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"github.com/bluesky-social/indigo/atproto/atcrypto"
)

// account is what is kept of an account. A published one is never changed: the
// server replaces it.
type account struct {
	DID, Handle, Email string
	Password           passwordHash
	AppPasswords       []appPassword `json:",omitempty"`
	CreatedAt          time.Time
	// DeactivatedAt is zero while the account is active.
	DeactivatedAt time.Time
	// TakedownRef is "" unless the account is taken down.
	TakedownRef string `json:",omitempty"`
	// SigningKey is the repository's private key, K-256.
	SigningKey []byte
}

// appPassword opens sessions that may not manage the account.
type appPassword struct {
	Name       string
	Privileged bool
	CreatedAt  time.Time
	Password   passwordHash
}

// clone is a copy to change.
func (a *account) clone() *account {
	c := *a
	c.AppPasswords = append([]appPassword(nil), a.AppPasswords...)
	return &c
}

// status of com.atproto.sync.subscribeRepos#account: "" while active.
func (a *account) status() string {
	switch {
	case a == nil:
		return "deleted"
	case a.TakedownRef != "":
		return "takendown"
	case !a.DeactivatedAt.IsZero():
		return "deactivated"
	default:
		return ""
	}
}

// key is the signing key.
func (a *account) key() (*atcrypto.PrivateKeyK256, error) {
	k, err := atcrypto.ParsePrivateBytesK256(a.SigningKey)
	if err != nil {
		return nil, fmt.Errorf("signing key of %s: %w", a.DID, err)
	}
	return k, nil
}

// newDID is a DID with the syntax of did:plc, of a new signing key: 24 base32
// characters of a SHA-256. No public directory knows it; ours serves it.
func newDID(publicKey, handle string) string {
	sum := sha256.Sum256([]byte(publicKey + "\x00" + handle))
	return "did:plc:" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:24])
}

// accounts by DID and by handle.
type accountIndex struct {
	byDID    map[string]*account
	byHandle map[string]*account
}

// put adds or replaces one.
func (x *accountIndex) put(a *account) {
	if old := x.byDID[a.DID]; old != nil {
		delete(x.byHandle, old.Handle)
	}
	x.byDID[a.DID], x.byHandle[a.Handle] = a, a
}

// find by handle or DID, whatever its status; nil if there is none.
func (x *accountIndex) find(handleOrDID string) *account {
	if strings.HasPrefix(handleOrDID, "did:") {
		return x.byDID[handleOrDID]
	}
	return x.byHandle[strings.ToLower(handleOrDID)]
}

// byEmail finds by e-mail address.
func (x *accountIndex) byEmail(email string) *account {
	for _, a := range x.byDID {
		if strings.EqualFold(a.Email, email) {
			return a
		}
	}
	return nil
}

// randomText is n characters of [a-z2-7], 5 bits each.
func randomText(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz234567"[b[i]&31]
	}
	return string(b)
}
