package atproto

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// XRPCError is an error answer of a PDS. It wraps the sentinel that it means.
type XRPCError struct {
	// Method is the NSID of the call, Host the base URL of the PDS.
	Method, Host string
	// Status is the HTTP status.
	Status int
	// Name and Message are the PDS's, shortened; both may be "".
	Name, Message string

	kind error
}

// Error implements error.
func (e *XRPCError) Error() string {
	s := fmt.Sprintf("%s at %s: %v: HTTP %d", e.Method, e.Host, e.kind, e.Status)
	if e.Name != "" {
		s += " " + e.Name
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Unwrap gives the sentinel, or the RateLimitError.
func (e *XRPCError) Unwrap() error { return e.kind }

// errNotLocated is the reference PDS's answer to a read of a repository that is
// inactive or not there ("Could not locate record", "Could not find repo"). It
// never leaves the package: Client.explain asks what it means.
var errNotLocated = errors.New("not located")

// namedErrors are the error names of the lexicons and of the reference PDS,
// whatever status comes with them.
var namedErrors = map[string]error{
	"InvalidSwap":             ErrInvalidSwap,
	"RecordNotFound":          ErrRecordNotFound,
	"RepoNotFound":            ErrRepoNotFound,
	"AccountNotFound":         ErrRepoNotFound,
	"RepoDeactivated":         ErrRepoInactive,
	"RepoTakendown":           ErrRepoInactive,
	"RepoSuspended":           ErrRepoInactive,
	"AccountDeactivated":      ErrRepoInactive,
	"AccountTakedown":         ErrRepoInactive,
	"AccountSuspended":        ErrRepoInactive,
	"ExpiredToken":            ErrUnauthorized,
	"InvalidToken":            ErrUnauthorized,
	"AuthMissing":             ErrUnauthorized,
	"AuthRequired":            ErrUnauthorized,
	"AuthenticationRequired":  ErrUnauthorized,
	"AuthFactorTokenRequired": ErrUnauthorized,
	"BadJwt":                  ErrUnauthorized,
	"BadJwtSignature":         ErrUnauthorized,
	"ScopeMissingError":       ErrUnauthorized,
	"PayloadTooLarge":         ErrTooLarge,
	"PayloadTooLargeError":    ErrTooLarge,
}

// classify is the one place where an error answer gets its meaning: a sentinel
// or a *RateLimitError. write tells whether the call changes a repository.
func classify(e *XRPCError, write bool, h http.Header, now time.Time) error {
	if e.Status == http.StatusTooManyRequests || e.Name == "RateLimitExceeded" {
		return &RateLimitError{Host: e.Host, RetryAfter: retryAfter(h, now)}
	}
	if e.Status >= 500 {
		// Conservative for writes: a gateway that lost its backend and a PDS that
		// failed after its transaction look alike.
		if write {
			return ErrUnknownOutcome
		}
		return ErrUnavailable
	}
	if s, ok := namedErrors[e.Name]; ok {
		return s
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrUnauthorized
	case http.StatusRequestEntityTooLarge:
		return ErrTooLarge
	case http.StatusRequestTimeout:
		if write {
			return ErrUnknownOutcome
		}
		return ErrUnavailable
	case http.StatusBadRequest:
		if strings.HasPrefix(e.Message, "Could not find repo") || strings.HasPrefix(e.Message, "Could not locate record") {
			return errNotLocated
		}
		if write {
			return ErrInvalidRecord
		}
	}
	// Redirects, a plain 404 of something that is no PDS, a method that is not
	// implemented: nothing was done, and nothing can be said of the record.
	return ErrUnavailable
}

// renewable tells whether fresh credentials may help.
func renewable(err error) bool {
	var xe *XRPCError
	return errors.As(err, &xe) && errors.Is(xe.kind, ErrUnauthorized) && xe.Status != http.StatusForbidden
}

// retryAfter reads how long to wait from Retry-After (seconds or a date) and
// RateLimit-Reset (the reference PDS: seconds since the epoch; the IETF draft:
// seconds from now). At least a second, at most a day.
func retryAfter(h http.Header, now time.Time) time.Duration {
	var d time.Duration
	if t, ok := rateLimitReset(h, now); ok {
		d = t.Sub(now)
	}
	if v := h.Get("Retry-After"); v != "" {
		if n, err := strconv.ParseInt(v, 10, 32); err == nil {
			d = max(d, time.Duration(n)*time.Second)
		} else if t, err := http.ParseTime(v); err == nil {
			d = max(d, t.Sub(now))
		}
	}
	return min(max(d, time.Second), 24*time.Hour)
}

// epochSeconds tells a point in time from a duration in RateLimit-Reset.
const epochSeconds = 1_000_000_000

func rateLimitReset(h http.Header, now time.Time) (time.Time, bool) {
	n, err := strconv.ParseInt(h.Get("RateLimit-Reset"), 10, 64)
	if err != nil || n < 0 || n > 100*epochSeconds {
		return time.Time{}, false
	}
	if n >= epochSeconds {
		return time.Unix(n, 0), true
	}
	return now.Add(time.Duration(n) * time.Second), true
}

// clip shortens what a PDS says to what a log line bears.
func clip(s string) string {
	const most = 300
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s), "�")
}
