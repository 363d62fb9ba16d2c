package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// hashLen is how many hex digits of a sha256 stand for what doesn't fit a name.
const hashLen = 12

// ContractName is the name of the ComputeContract that stands for a contract:
// infra-<infra>-<contract>, einfra-… for an EphemeralInfra. One of more than 253
// bytes ends with a hash.
func ContractName(d *Deployment, contract string) string {
	name := plainName(d, contract)
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return HashedName(d, contract)
	}
	return name
}

// HashedName is the name where the plain one belongs to another owner: the names of
// (a-b, c) and (a, b-c) are the same, and an owner of before may have left its own
// behind. The hash is of the deployment's uid and the contract, so no two share it.
func HashedName(d *Deployment, contract string) string {
	return shorten(plainName(d, contract), validation.DNS1123SubdomainMaxLength, string(d.UID)+"/"+contract)
}

func plainName(d *Deployment, contract string) string {
	prefix := "infra-"
	if d.Kind == KindEphemeralInfra {
		prefix = "einfra-"
	}
	return prefix + d.Name + "-" + contract
}

// shorten keeps what fits of a name before the hash of a text.
func shorten(name string, limit int, text string) string {
	sum := sha256.Sum256([]byte(text))
	keep := limit - 1 - hashLen
	if len(name) < keep {
		keep = len(name)
	}
	// No label of a name ends with a dash, and none is empty.
	return strings.TrimRight(name[:keep], "-.") + "-" + hex.EncodeToString(sum[:])[:hashLen]
}

// FieldManager applies the ComputeContracts of one deployment. It has a manager of
// its own: two deployments that meet in a name then conflict, where one manager's
// applies would merge.
func FieldManager(uid types.UID) string { return "infra-controller/" + string(uid) }
