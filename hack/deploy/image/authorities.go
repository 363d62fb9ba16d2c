package image

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// authorities are those that browsers trust (Mozilla's list), at the version that
// go.mod pins, as PEM with their names. Left out are those that are trusted only for
// certificates of before some day: a file can't say that.
func authorities() ([]byte, error) {
	var entries [][]byte
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		c, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, fmt.Errorf("authorities: %w", err)
		}
		block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
		entries = append(entries, slices.Concat([]byte("# "+c.Subject.String()+"\n"), block))
	}
	return bytes.Join(entries, []byte("\n")), nil
}
