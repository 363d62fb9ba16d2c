package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// contractStates are the states that a contract may be in.
var contractStates = []socialweb.ContractState{
	socialweb.ContractStaged, socialweb.ContractRequested, socialweb.ContractReleased,
}

// validateContract checks one contract; that its name is unique is checked for
// the list.
func validateContract(c *socialweb.Contract, path *field.Path) field.ErrorList {
	errs := validateLabel(c.Name, path.Child("name"))
	errs = append(errs, validateEnum(c.State, contractStates, path.Child("state"))...)
	return append(errs, validateRequest(c, path)...)
}

// validateRequest checks what a contract asks for, which a ComputeContract does too.
func validateRequest(c *socialweb.Contract, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.VMName != "" {
		errs = append(errs, validateSubdomain(c.VMName, path.Child("vmName"))...)
	}
	errs = append(errs, validateDIDs(c.BidderDIDs, nil, path.Child("bidderDids"))...)
	errs = append(errs, validateDIDs(c.DenyBidderDIDs, c.BidderDIDs, path.Child("denyBidderDids"))...)
	errs = append(errs, validateSSHKeys(c.SSHAuthorizedKeys, path.Child("sshAuthorizedKeys"))...)
	errs = append(errs, validateLength(c.UserData, MaxUserData, path.Child("userData"))...)
	errs = append(errs, validateLength(c.Policy, MaxPolicy, path.Child("policy"))...)
	errs = append(errs, validatePolicyArgs(c.PolicyArgs, path.Child("policyArgs"))...)
	if t := c.VMReadyTimeoutSec; t != nil && (*t < 1 || *t > MaxVMReadyTimeoutSec) {
		errs = append(errs, field.Invalid(path.Child("vmReadyTimeoutSec"), *t, "must be 1 to 86400 seconds: leave it out for the fulfiller's own limit"))
	}
	return errs
}

// validateDIDs checks a list of DIDs: each one's syntax, none twice, none that is
// in the other list.
func validateDIDs(dids, other []string, path *field.Path) field.ErrorList {
	if len(dids) > MaxDIDs {
		return field.ErrorList{field.TooMany(path, len(dids), MaxDIDs)}
	}
	var errs field.ErrorList
	contrary := make(map[string]bool, len(other))
	for _, did := range other {
		contrary[did] = true
	}
	seen := make(map[string]bool, len(dids))
	for i, did := range dids {
		at := path.Index(i)
		if bad := validateDID(did, at); bad != nil {
			errs = append(errs, bad...)
			continue
		}
		if seen[did] {
			errs = append(errs, field.Duplicate(at, did))
		} else if contrary[did] {
			errs = append(errs, field.Invalid(at, did, "is in bidderDids too: a bidder is either considered or refused, remove it from one of the lists"))
		}
		seen[did] = true
	}
	return errs
}

// validateSSHKeys checks the list of public keys.
func validateSSHKeys(keys []string, path *field.Path) field.ErrorList {
	if len(keys) > MaxSSHKeys {
		return field.ErrorList{field.TooMany(path, len(keys), MaxSSHKeys)}
	}
	var errs field.ErrorList
	for i, key := range keys {
		errs = append(errs, validateSSHKey(key, path.Index(i))...)
	}
	return errs
}

// validatePolicyArgs checks the arguments. Without a policy they are those of the
// fulfiller's own.
func validatePolicyArgs(args []string, path *field.Path) field.ErrorList {
	if len(args) > MaxPolicyArgs {
		return field.ErrorList{field.TooMany(path, len(args), MaxPolicyArgs)}
	}
	var errs field.ErrorList
	for i, arg := range args {
		errs = append(errs, validateLength(arg, MaxPolicyArg, path.Index(i))...)
	}
	return errs
}
