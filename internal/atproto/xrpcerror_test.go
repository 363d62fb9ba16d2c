package atproto

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestClassify(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, tc := range []struct {
		status        int
		name, message string
		read, write   error
	}{
		{400, "InvalidSwap", "Record was at bafy", ErrInvalidSwap, ErrInvalidSwap},
		{400, "RecordNotFound", "", ErrRecordNotFound, ErrRecordNotFound},
		{404, "RecordNotFound", "", ErrRecordNotFound, ErrRecordNotFound},
		// A 404 that is no XRPC error comes from something that is no PDS: it says
		// nothing of the record.
		{404, "", "", ErrUnavailable, ErrUnavailable},
		{404, "NotFound", "no such page", ErrUnavailable, ErrUnavailable},
		{400, "RepoNotFound", "", ErrRepoNotFound, ErrRepoNotFound},
		{404, "RepoNotFound", "", ErrRepoNotFound, ErrRepoNotFound},
		{400, "RepoDeactivated", "", ErrRepoInactive, ErrRepoInactive},
		{400, "RepoTakendown", "", ErrRepoInactive, ErrRepoInactive},
		{400, "RepoSuspended", "", ErrRepoInactive, ErrRepoInactive},
		{401, "AccountTakedown", "", ErrRepoInactive, ErrRepoInactive},
		{401, "AccountDeactivated", "", ErrRepoInactive, ErrRepoInactive},
		{400, "InvalidRequest", "Could not locate record: at://x", errNotLocated, errNotLocated},
		{400, "InvalidRequest", "Could not find repo: did:x", errNotLocated, errNotLocated},
		{400, "InvalidRequest", "Invalid record", ErrUnavailable, ErrInvalidRecord},
		{400, "", "", ErrUnavailable, ErrInvalidRecord},
		{400, "ExpiredToken", "", ErrUnauthorized, ErrUnauthorized},
		{400, "InvalidToken", "", ErrUnauthorized, ErrUnauthorized},
		{401, "AuthMissing", "", ErrUnauthorized, ErrUnauthorized},
		{401, "", "", ErrUnauthorized, ErrUnauthorized},
		{403, "Forbidden", "", ErrUnauthorized, ErrUnauthorized},
		{413, "PayloadTooLargeError", "", ErrTooLarge, ErrTooLarge},
		{413, "", "", ErrTooLarge, ErrTooLarge},
		{429, "RateLimitExceeded", "", ErrRateLimited, ErrRateLimited},
		{429, "", "", ErrRateLimited, ErrRateLimited},
		{408, "", "", ErrUnavailable, ErrUnknownOutcome},
		{500, "InternalServerError", "", ErrUnavailable, ErrUnknownOutcome},
		// Names don't count in a server error: the write may have happened.
		{500, "InvalidSwap", "", ErrUnavailable, ErrUnknownOutcome},
		{502, "", "", ErrUnavailable, ErrUnknownOutcome},
		{503, "", "", ErrUnavailable, ErrUnknownOutcome},
		{504, "", "", ErrUnavailable, ErrUnknownOutcome},
		{301, "", "", ErrUnavailable, ErrUnavailable},
		{307, "", "", ErrUnavailable, ErrUnavailable},
		{405, "", "", ErrUnavailable, ErrUnavailable},
	} {
		for write, want := range map[bool]error{false: tc.read, true: tc.write} {
			e := &XRPCError{Method: "m", Host: "h", Status: tc.status, Name: tc.name, Message: tc.message}
			if e.kind = classify(e, write, http.Header{}, now); !errors.Is(e, want) {
				t.Errorf("%d %s %q write=%v: %v, want %v", tc.status, tc.name, tc.message, write, e.kind, want)
			}
			for _, s := range []string{e.Name, e.Message, fmt.Sprint(e.Status), want.Error()} {
				if !errors.Is(want, ErrRateLimited) && !strings.Contains(e.Error(), s) {
					t.Errorf("text %q lacks %q", e, s)
				}
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, tc := range []struct {
		header http.Header
		want   time.Duration
	}{
		{http.Header{}, time.Second},
		{http.Header{"Retry-After": {"7"}}, 7 * time.Second},
		{http.Header{"Retry-After": {"-7"}}, time.Second},
		{http.Header{"Retry-After": {"junk"}}, time.Second},
		{http.Header{"Retry-After": {now.Add(time.Minute).UTC().Format(http.TimeFormat)}}, time.Minute},
		{http.Header{"Ratelimit-Reset": {"1800000090"}}, 90 * time.Second},
		{http.Header{"Ratelimit-Reset": {"30"}}, 30 * time.Second},
		{http.Header{"Ratelimit-Reset": {"30"}, "Retry-After": {"40"}}, 40 * time.Second},
		{http.Header{"Ratelimit-Reset": {"1700000000"}}, time.Second},
		{http.Header{"Retry-After": {"99999999"}}, 24 * time.Hour},
	} {
		if got := retryAfter(tc.header, now); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.header, got, tc.want)
		}
	}
	err := fmt.Errorf("call: %w", &RateLimitError{Host: "h", RetryAfter: 3 * time.Second})
	if RetryAfter(err) != 3*time.Second || RetryAfter(ErrUnavailable) != 0 {
		t.Error("RetryAfter doesn't find the time in the error")
	}
}

func TestClipKeepsLogLinesWhole(t *testing.T) {
	if got := clip("a\nb\x00c\xff"); strings.ContainsAny(got, "\n\x00") || got != strings.ToValidUTF8(got, "") {
		t.Errorf("%q", got)
	}
	if got := clip(strings.Repeat("x", 1000)); len(got) > 310 {
		t.Errorf("%d bytes", len(got))
	}
}
