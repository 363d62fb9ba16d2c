package validation

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateSSHKey checks one public key in the form of a line of an
// authorized_keys file: options, if any, then the algorithm, the key in base64
// and, if any, a comment. The value is never repeated in an error, because it may
// be a private key that somebody pasted.
func validateSSHKey(value string, path *field.Path) field.ErrorList {
	const hidden = "(not shown)"
	switch {
	case len(value) > MaxSSHKey:
		return field.ErrorList{field.TooLong(path, hidden, MaxSSHKey)}
	case strings.Contains(value, "PRIVATE KEY"):
		return field.ErrorList{field.Invalid(path, hidden, "is a private key, and the record is public: give the public key (the .pub file), and consider this private key disclosed if it was ever written elsewhere")}
	case strings.ContainsFunc(strings.TrimSpace(value), unicode.IsControl):
		return field.ErrorList{field.Invalid(path, hidden, "has a line break or another control character: give one key an item, each on one line")}
	case !hasKey(value):
		return field.ErrorList{field.Invalid(path, hidden, "not a public key: write it like a line of an authorized_keys file, for example \"ssh-ed25519 AAAAC3… me@example.com\"")}
	}
	return nil
}

// keyAlgorithms are what the names of public key algorithms begin with.
var keyAlgorithms = []string{"ssh-", "ecdsa-", "sk-"}

// hasKey says whether an algorithm and a key stand next to each other in the
// line. Whether the key is one is for the guest's sshd to say: it knows algorithms
// that we don't.
func hasKey(line string) bool {
	words := strings.Fields(line)
	for i := 0; i+1 < len(words); i++ {
		for _, prefix := range keyAlgorithms {
			if strings.HasPrefix(words[i], prefix) {
				return true
			}
		}
	}
	return false
}
