package testproxy

import "time"

// Kind of a fault.
type Kind int

const (
	// None passes the request on.
	None Kind = iota
	// Refused: without methods nothing listens any more, and every connection
	// that is open is reset; with methods the connection of the request is reset.
	Refused
	// Hung: the request is taken and never answered. It ends with the client's
	// patience, or when the fault does; it never reaches the PDS.
	Hung
	// Slow: the request is passed on after Fault.Delay.
	Slow
	// Status500: HTTP 500 InternalServerError, not passed on.
	Status500
	// Status429: HTTP 429 RateLimitExceeded with RateLimit-Reset and Retry-After,
	// not passed on.
	Status429
	// NotFound: a plain HTTP 404, as a proxy in front of nothing gives it.
	NotFound
	// Garbage: HTTP 200 with a body that is no JSON and no CAR.
	Garbage
	// Truncated: the PDS's answer, cut in the middle of its body.
	Truncated
	// LostAnswer: passed on, and the connection is reset instead of the answer.
	LostAnswer
	// WrongCID: the PDS's answer with other CIDs than it gave (JSON), or with a
	// damaged root (CAR).
	WrongCID
	// AlteredRecord: the PDS's answer with other bytes in its records than their
	// CIDs are of.
	AlteredRecord
	// Revoked: every token that was seen before the fault was set is refused, as
	// PDSes do after a password change; new sessions work.
	Revoked
	// NoSwap: passed on without its swapRecord, as by a PDS that ignores it.
	NoSwap
	// LockedOut: every request with a token, and every login, is refused.
	LockedOut
)

var names = map[Kind]string{
	None: "none", Refused: "refused", Hung: "hung", Slow: "slow", Status500: "500", Status429: "429", NotFound: "404",
	Garbage: "garbage", Truncated: "truncated", LostAnswer: "lost answer", WrongCID: "wrong CID",
	AlteredRecord: "altered record", Revoked: "token revoked", NoSwap: "swap ignored",
	LockedOut: "locked out",
}

// String is the fault's name, for the names of tests.
func (k Kind) String() string { return names[k] }

// Fault is what happens to requests.
type Fault struct {
	// Kind of the fault.
	Kind Kind
	// Delay of Slow.
	Delay time.Duration
	// Reset is when a Status429 says that its limit ends, from then; 0: a minute.
	Reset time.Duration
	// Times is how many requests it happens to before it is over; 0: until Clear.
	Times int
	// Before, if set, is called before a request is passed on or refused. It may
	// do what a third party does between a request and its arrival.
	Before func()
}

// StreamMode is what happens to event streams (com.atproto.sync.subscribeRepos).
type StreamMode int

const (
	// StreamPass passes events on.
	StreamPass StreamMode = iota
	// StreamCut closes the streams and refuses new ones.
	StreamCut
	// StreamStalled keeps the streams open, and answers their pings, but passes
	// no event on. What is held back comes when the mode changes.
	StreamStalled
)

// String is the mode's name, for the names of tests.
func (m StreamMode) String() string {
	return map[StreamMode]string{StreamPass: "on", StreamCut: "off", StreamStalled: "stalled"}[m]
}
