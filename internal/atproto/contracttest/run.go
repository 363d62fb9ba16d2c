// Package contracttest states what this project relies on of a PDS, as test
// cases that any PDS can be run against: the reference PDS, which defines the
// behaviour, and the embedded one, which must not differ.
//
// Each case says in its name what holds. Where a case fails on a PDS, the
// storage is not safe on it, or the client misreads it.
package contracttest

import (
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/testpds"
)

// Start starts a PDS for the test.
type Start func(t testing.TB, o testpds.Options) *testpds.Server

// testCase is one promise. Cases of a group share one server and must not
// disturb each other: each uses records of its own, and an account of its own
// where it changes the account's state.
type testCase struct {
	name string
	run  func(t *testing.T, e *env)
}

// group is a set of cases that need the same PDS options.
type group struct {
	name    string
	options testpds.Options
	cases   []testCase
}

// Run runs the suite: contracttest.Run(t, testpds.StartReference).
func Run(t *testing.T, start Start) {
	groups := []group{
		{
			name:    "Repo",
			options: testpds.Options{Accounts: []string{alice, bob, dora, tom, mary, fay}},
			cases:   concat(writeCases, readCases, proofCases, sessionCases, accountCases, streamCases),
		},
		{
			name:    "SmallBuffer",
			options: testpds.Options{MaxBuffer: 5},
			cases:   slowConsumerCases,
		},
		{
			name:    "ShortBackfillAndRateLimits",
			options: testpds.Options{Backfill: time.Millisecond, RateLimits: true},
			cases:   concat(outdatedCursorCases, limitCases), // the limits last: they stay
		},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			e := newEnv(t, start(t, g.options), g.options.Accounts)
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) { c.run(t, e) })
			}
		})
	}
}

func concat(lists ...[]testCase) []testCase {
	var out []testCase
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}
