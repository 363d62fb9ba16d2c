package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// LabelValue is the name of an object as the value of LabelName, LabelContract or
// LabelCollection: one of more than 63 bytes ends with 12 hex digits of its sha256.
func LabelValue(name string) string {
	const hashLen = 12
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight(name[:validation.LabelValueMaxLength-1-hashLen], "-.") + "-" + hex.EncodeToString(sum[:])[:hashLen]
}
