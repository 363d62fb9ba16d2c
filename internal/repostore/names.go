package repostore

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/util/validation"
)

// NameOf is the object name under which a record is served that no object has
// bound: its rkey where that is a DNS-1123 subdomain, else "r-" and the first 12
// hex digits of its sha256. A created object's rkey is its name, so both agree.
func NameOf(rkey string) string {
	if len(validation.IsDNS1123Subdomain(rkey)) == 0 {
		return rkey
	}
	sum := sha256.Sum256([]byte(rkey))
	return "r-" + hex.EncodeToString(sum[:])[:12]
}
