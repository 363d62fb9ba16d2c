package validation

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bluesky-social/indigo/atproto/syntax"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// The values of AtprotoRepo's enumerations.
var (
	repoAccesses      = []socialweb.RepoAccess{socialweb.AccessNone, socialweb.AccessRead, socialweb.AccessReadWrite}
	eventSources      = []socialweb.EventSourceType{socialweb.EventSourceFirehose, socialweb.EventSourceJetstream, socialweb.EventSourcePoll}
	staleReads        = []socialweb.StaleReadsPolicy{socialweb.StaleReadsDeny, socialweb.StaleReadsAllow}
	executionPolicies = []socialweb.ExecutionPolicy{socialweb.ExecutionFollow, socialweb.ExecutionObserveOnly}
)

// ValidateAtprotoRepoCreate checks an AtprotoRepo that is to be created, with its
// defaults set. That at most one of a workspace is the default is the registry's
// to check.
func ValidateAtprotoRepoCreate(repo *socialweb.AtprotoRepo) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&repo.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateAtprotoRepoSpec(&repo.Spec, field.NewPath("spec"))...)
}

// ValidateAtprotoRepoUpdate checks an update of an AtprotoRepo's metadata and
// spec. Which account it is can't change: objects are bound to it.
func ValidateAtprotoRepoUpdate(repo, old *socialweb.AtprotoRepo) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&repo.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	path := field.NewPath("spec")
	if !equality.Semantic.DeepEqual(repo.Spec, old.Spec) {
		errs = append(errs, validateAtprotoRepoSpec(&repo.Spec, path)...)
	}
	return append(errs, validateAccountUpdate(repo, old, path)...)
}

// ValidateAtprotoRepoStatusUpdate checks a write of an AtprotoRepo's status.
func ValidateAtprotoRepoStatusUpdate(repo, old *socialweb.AtprotoRepo) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&repo.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	path, s := field.NewPath("status"), &repo.Status
	errs = append(errs, validateNotNegative(s.ObservedGeneration, path.Child("observedGeneration"))...)
	if s.DID != "" {
		errs = append(errs, validateDID(s.DID, path.Child("did"))...)
	}
	// A handle is taken as it was observed: handle.invalid is one, too.
	errs = append(errs, validateLength(s.Handle, MaxVMName, path.Child("handle"))...)
	errs = append(errs, validateLength(s.PDS, MaxURL, path.Child("pds"))...)
	errs = append(errs, validateRev(s.Rev, path.Child("rev"))...)
	errs = append(errs, validateRev(s.IngestedRev, path.Child("ingestedRev"))...)
	if s.LagSeconds != nil {
		errs = append(errs, validateNotNegative(*s.LagSeconds, path.Child("lagSeconds"))...)
	}
	if s.Access != "" {
		errs = append(errs, validateEnum(s.Access, repoAccesses, path.Child("access"))...)
	}
	return append(errs, validateConditions(s.Conditions, path.Child("conditions"))...)
}

func validateAtprotoRepoSpec(spec *socialweb.AtprotoRepoSpec, path *field.Path) field.ErrorList {
	errs := validateAccount(spec, path)
	if spec.PDS != "" {
		errs = append(errs, validateURL(spec.PDS, path.Child("pds"), "https", "http")...)
	}
	if ref := spec.CredentialsRef; ref != nil {
		errs = append(errs, validateSubdomain(ref.Name, path.Child("credentialsRef", "name"))...)
	}
	errs = append(errs, validateEnum(spec.Access, repoAccesses, path.Child("access"))...)
	errs = append(errs, validateEnum(spec.EventSource, eventSources, path.Child("eventSource"))...)
	errs = append(errs, validateEnum(spec.StaleReads, staleReads, path.Child("staleReads"))...)
	if spec.Execution != "" {
		errs = append(errs, validateEnum(spec.Execution, executionPolicies, path.Child("execution"))...)
	}
	if spec.JetstreamURL != "" {
		jetstream := path.Child("jetstreamURL")
		if spec.EventSource != socialweb.EventSourceJetstream {
			errs = append(errs, field.Forbidden(jetstream, "is for the event source Jetstream: set eventSource to Jetstream, or remove it"))
		}
		errs = append(errs, validateURL(spec.JetstreamURL, jetstream, "wss", "ws")...)
	}
	return errs
}

// ValidateEventSource checks what only the server knows: without a Jetstream of its
// own, the event source Jetstream needs an address. old is nil at the creation;
// what was accepted once stands until it is changed.
func ValidateEventSource(repo, old *socialweb.AtprotoRepo, serverHasJetstream bool) field.ErrorList {
	spec := &repo.Spec
	if serverHasJetstream || spec.EventSource != socialweb.EventSourceJetstream || spec.JetstreamURL != "" {
		return nil
	}
	if old != nil && old.Spec.EventSource == spec.EventSource && old.Spec.JetstreamURL == "" {
		return nil
	}
	return field.ErrorList{field.Required(field.NewPath("spec", "jetstreamURL"),
		`eventSource is "Jetstream", and this server has no Jetstream of its own (--jetstream-url): give the address, like wss://jetstream.example.com, or choose Firehose or Poll`)}
}

// validateAccount checks did and handle.
func validateAccount(spec *socialweb.AtprotoRepoSpec, path *field.Path) field.ErrorList {
	if spec.DID == "" && spec.Handle == "" {
		return field.ErrorList{field.Required(path.Child("did"), "name the account: set did, or handle to have it resolved once")}
	}
	var errs field.ErrorList
	if spec.DID != "" {
		errs = append(errs, validateAccountDID(spec.DID, path.Child("did"))...)
	}
	if spec.Handle != "" {
		handle, err := syntax.ParseHandle(spec.Handle)
		if err != nil || handle.IsInvalidHandle() {
			errs = append(errs, field.Invalid(path.Child("handle"), shorten(spec.Handle), "not a handle: write it like alice.example.com, without '@'"))
		}
	}
	return errs
}

// validateAccountDID checks the DID of an account: of atproto's two methods, the
// only ones whose documents can be found.
func validateAccountDID(value string, path *field.Path) field.ErrorList {
	if errs := validateDID(value, path); len(errs) > 0 {
		return errs
	}
	if method := syntax.DID(value).Method(); method != "plc" && method != "web" {
		return field.ErrorList{field.Invalid(path, shorten(value), fmt.Sprintf("is of the method %s: atproto accounts are of did:plc and did:web", method))}
	}
	return nil
}

// validateAccountUpdate keeps an AtprotoRepo at its account.
func validateAccountUpdate(repo, old *socialweb.AtprotoRepo, path *field.Path) field.ErrorList {
	const remedy = "create another AtprotoRepo for another account"
	var errs field.ErrorList
	now, was := &repo.Spec, &old.Spec
	switch {
	case now.DID == was.DID:
	case was.DID != "":
		errs = append(errs, field.Invalid(path.Child("did"), shorten(now.DID), fmt.Sprintf("can't change from %s once it is set: %s", was.DID, remedy)))
	case old.Status.DID != "" && now.DID != old.Status.DID:
		errs = append(errs, field.Invalid(path.Child("did"), shorten(now.DID), fmt.Sprintf("isn't the account %s that the handle was resolved to: %s", old.Status.DID, remedy)))
	}
	if was.DID == "" && now.Handle != was.Handle {
		errs = append(errs, field.Invalid(path.Child("handle"), shorten(now.Handle), fmt.Sprintf("can't change from %s while did is empty: set did first, or %s", was.Handle, remedy)))
	}
	return errs
}

// validateURL checks a base URL: one of the schemes, a host, and nothing that
// would be ignored or disclosed. The value isn't repeated in an error where it
// may hold a password.
func validateURL(value string, path *field.Path, schemes ...string) field.ErrorList {
	if len(value) > MaxURL {
		return field.ErrorList{field.TooLong(path, value, MaxURL)}
	}
	example := schemes[0] + "://host.example.com"
	u, err := url.Parse(value)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(path, "(not shown)", "not a URL: write it like "+example)}
	case u.User != nil:
		return field.ErrorList{field.Invalid(path, u.Redacted(), "has a user name or password in it: remove them, spec.credentialsRef names the credentials")}
	case !slices.Contains(schemes, u.Scheme) || u.Host == "" || u.Hostname() == "":
		return field.ErrorList{field.Invalid(path, shorten(value), fmt.Sprintf("must be a URL with the scheme %s and a host: write it like %s", strings.Join(schemes, " or "), example))}
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return field.ErrorList{field.Invalid(path, shorten(value), "has a query or fragment: remove it")}
	case !validPort(u.Port()):
		return field.ErrorList{field.Invalid(path, shorten(value), "has a port that is none: give 1 to 65535, or leave it out")}
	case strings.Trim(u.Path, "/") != "":
		return field.ErrorList{field.Invalid(path, shorten(value), "has a path: give the base URL only, like "+example)}
	}
	return nil
}

// validPort checks the port of a URL; "": the scheme's own.
func validPort(port string) bool {
	if port == "" {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}
