package atproto

import (
	"errors"
	"fmt"
	"time"
)

// The sentinels of this package. Match them with errors.Is; the errors that wrap
// them say which call, which repository and what the PDS answered, and never
// hold a token or a password.
var (
	// ErrInvalidSwap: the record is not (any more) what the swap said.
	ErrInvalidSwap = errors.New("swap not met")
	// ErrRecordNotFound: the repository exists, the record does not.
	ErrRecordNotFound = errors.New("record not found")
	// ErrRepoNotFound: the PDS doesn't host this account.
	ErrRepoNotFound = errors.New("repository not found")
	// ErrRepoInactive: the account is deactivated, suspended or taken down. Its
	// records are not gone.
	ErrRepoInactive = errors.New("repository inactive")
	// ErrRateLimited: a limit of the PDS or of our own request budget; RetryAfter
	// tells how long to wait.
	ErrRateLimited = errors.New("rate limited")
	// ErrUnauthorized: the credentials are missing, wrong, revoked, or belong to
	// another account.
	ErrUnauthorized = errors.New("not authorized")
	// ErrTooLarge: the record is over the PDS's size limit.
	ErrTooLarge = errors.New("record too large")
	// ErrInvalidRecord: the PDS or the data model refuses the record's content.
	ErrInvalidRecord = errors.New("record refused")
	// ErrUnavailable: the PDS can't be reached or answered with a server error,
	// and a write was certainly not applied.
	ErrUnavailable = errors.New("PDS unavailable")
	// ErrUnknownOutcome: a write was sent and its answer was lost; it may or may
	// not have been applied, now or later.
	ErrUnknownOutcome = errors.New("outcome unknown")
	// ErrBadData: what the PDS sent fails verification (CID, proof, signature) or
	// can't be decoded.
	ErrBadData = errors.New("PDS sent bad data")
	// ErrIncomplete: an export lacked blocks (the PDS wrote while it exported).
	ErrIncomplete = errors.New("incomplete export")
	// ErrAddressRefused: the PDS's address is private or loopback and that is not
	// allowed.
	ErrAddressRefused = errors.New("address refused")
)

// RateLimitError carries when the limit resets. It matches ErrRateLimited.
type RateLimitError struct {
	// Host whose limit it is.
	Host string
	// RetryAfter is how long to wait from now; at least a second.
	RetryAfter time.Duration
	// Local is true where our own budget refused the request before it was sent.
	Local bool
}

// Error implements error.
func (e *RateLimitError) Error() string {
	who := "the PDS"
	if e.Local {
		who = "the request budget for"
	}
	return fmt.Sprintf("%s %s limits requests, retry after %s", who, e.Host, e.RetryAfter.Round(time.Second))
}

// Is makes errors.Is(err, ErrRateLimited) true.
func (e *RateLimitError) Is(target error) bool { return target == ErrRateLimited }

// RetryAfter is the time to wait that err names, or zero.
func RetryAfter(err error) time.Duration {
	var rl *RateLimitError
	if errors.As(err, &rl) {
		return rl.RetryAfter
	}
	return 0
}
