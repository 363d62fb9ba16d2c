// Package testpds starts PDSes for tests: the embedded one and the reference
// PDS from npm. Both give the same Server, so that one test body runs on both.
package testpds

import "time"

// Options of a PDS for tests. The zero value is one account "alice", no rate
// limits, default buffers and a data directory that goes with the test.
type Options struct {
	// Accounts to create, by the first label of their handle; none: "alice".
	Accounts []string
	// RateLimits turns the write-point and request limits on.
	RateLimits bool
	// MaxBuffer is the number of events that a slow firehose consumer may lag
	// before ConsumerTooSlow; 0: the default.
	MaxBuffer int
	// Backfill is the window in which a firehose cursor is served without
	// OutdatedCursor; 0: the default (24 h).
	Backfill time.Duration
	// DataDir keeps the data there; "": a directory of the test (the reference
	// PDS), memory (the embedded one).
	DataDir string
	// Port to listen on. 0: the one that DataDir was served on before, else any.
	Port int
}

// Server is a running PDS on loopback.
type Server struct {
	// URL of the PDS, http://localhost:PORT.
	URL string
	// PLCURL is the did:plc directory that knows its accounts. The embedded PDS
	// is its own.
	PLCURL string
	// AdminPassword for com.atproto.admin.* with HTTP Basic, user "admin".
	AdminPassword string
	// Accounts in the order of Options.Accounts.
	Accounts []Account
	// DataDir holds its data; start again with it in Options.DataDir to continue.
	DataDir string
	// Port that it listens on.
	Port int
	// Stop ends the server; it is called at the test's end too. A second call,
	// or one after Kill, does nothing.
	Stop func()
	// Kill ends it without warning (SIGKILL, or the nearest thing).
	Kill func()
}

// Account of a test PDS.
type Account struct {
	// Handle, DID and Password; the password opens a session.
	Handle, DID, Password string
}
