package devpds

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Rounds of PBKDF2-HMAC-SHA-256: many where the hash is kept on disk, one where
// it never leaves memory, so that fast tests log in fast.
const (
	roundsDisk   = 100_000
	roundsMemory = 1
)

// passwordHash is a salted PBKDF2 hash.
type passwordHash struct {
	Salt, Hash []byte
	Rounds     int
}

// hashPassword with a new salt.
func hashPassword(password string, rounds int) (passwordHash, error) {
	h := passwordHash{Salt: make([]byte, 16), Rounds: rounds}
	_, _ = rand.Read(h.Salt) // never fails
	var err error
	if h.Hash, err = pbkdf2.Key(sha256.New, password, h.Salt, rounds, sha256.Size); err != nil {
		return h, fmt.Errorf("hash password: %w", err)
	}
	return h, nil
}

// matches tells whether password is the one hashed.
func (h passwordHash) matches(password string) bool {
	if len(h.Hash) == 0 {
		return false
	}
	got, err := pbkdf2.Key(sha256.New, password, h.Salt, h.Rounds, len(h.Hash))
	return err == nil && subtle.ConstantTimeCompare(got, h.Hash) == 1
}

// passwordFile is where the password of a configured account is kept.
func passwordFile(dir, handle string) string {
	return filepath.Join(dir, "password-"+handle)
}

// readPassword reads a password file; "" if there is none.
func readPassword(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read password file: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// writePassword writes a password file, mode 0600, whole or not at all.
func writePassword(path, password string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".password-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write password file: %w", err)
	}
	_, err = tmp.WriteString(password + "\n")
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write password file: %w", err), os.Remove(tmp.Name()))
	}
	return nil
}
