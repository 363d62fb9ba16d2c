package repostore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/gowebpki/jcs"
	"k8s.io/apimachinery/pkg/runtime"
)

// canonical is the RFC 8785 JSON of a value in the atproto data model.
func canonical(value map[string]any) ([]byte, error) {
	b, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode declaration: %w", err)
	}
	c, err := jcs.Transform(b)
	if err != nil {
		return nil, fmt.Errorf("canonicalize declaration: %w", err)
	}
	return c, nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// declarationOf is the canonical declaration of obj.
func (s *Store) declarationOf(obj runtime.Object) ([]byte, error) {
	d, err := s.mapper.Declaration(obj)
	if err != nil {
		return nil, err
	}
	return canonical(d)
}

// sameDeclaration tells whether b's record needs no other declaration than a's.
func (s *Store) sameDeclaration(a, b runtime.Object) (bool, error) {
	x, err := s.declarationOf(a)
	if err != nil {
		return false, err
	}
	y, err := s.declarationOf(b)
	if err != nil {
		return false, err
	}
	return bytes.Equal(x, y), nil
}

// statusDigest tells observed statuses apart; "" is a record without one. The
// observed status lies under "status" in every lexicon of ours.
func statusDigest(record map[string]any) (string, error) {
	status, ok := record["status"].(map[string]any)
	if !ok || len(status) == 0 {
		return "", nil
	}
	b, err := canonical(status)
	if err != nil {
		return "", err
	}
	return digest(b), nil
}
