package devpds

import (
	"time"

	"k8s.io/utils/clock"
)

// Config of a Server. The zero value with Memory set is a useful PDS for a test:
// account "alice.test", any free port on loopback, no rate limits.
type Config struct {
	// Dir keeps the data: pds.db and one password file an account, all with mode
	// 0600. It is made if need be. Required unless Memory is set.
	Dir string
	// Memory keeps everything in memory and nothing on disk.
	Memory bool
	// ListenAddr is a TCP address to serve on. "" is loopback, at the port that
	// Dir was served on before if it is free, else at any; "-" serves nothing:
	// use Handler, and set PublicURL.
	ListenAddr string
	// PublicURL is what clients call this server, the endpoint in its DID
	// documents; "" is http://localhost:PORT of the listener.
	PublicURL string
	// Accounts that must exist; made when they don't. None: "alice.test".
	Accounts []AccountConfig
	// AdminPassword of com.atproto.admin.*; "": a random one, see Server.AdminPassword.
	AdminPassword string
	// Limits of requests; off by default.
	Limits Limits
	// MaxBuffer is how many events a live subscriber may lag before
	// ConsumerTooSlow; 0 is 500, as the reference PDS has it.
	MaxBuffer int
	// Backfill is the age of events that a cursor still gets without
	// OutdatedCursor; 0 is 24 h.
	Backfill time.Duration
	// AccessTTL and RefreshTTL are the lifetimes of tokens; 0 is 2 h and 90 days.
	AccessTTL, RefreshTTL time.Duration
	// Clock; nil is the real one. It rules token expiry, rate limits, revs and
	// the age of events.
	Clock clock.PassiveClock
}

// AccountConfig is an account that must exist.
type AccountConfig struct {
	// Handle, such as "alice.test".
	Handle string
	// Password; "": the one kept from before, else a random one. It replaces one
	// that differs.
	Password string
}

// Account is an account that Config named.
type Account struct {
	// Handle, DID and Password of the account.
	Handle, DID, Password string
	// PasswordFile holds the password; "" in memory.
	PasswordFile string
}

// Limits are the request limits of the reference PDS: fixed windows that begin
// with their first request. A zero number is the reference's.
type Limits struct {
	// Enabled turns them on.
	Enabled bool
	// WriteHour and WriteDay are write points per account (create 3, put 2,
	// delete 1; spent even when the swap fails): 5,000 and 35,000.
	WriteHour, WriteDay int
	// PerIP is requests per client address in 5 minutes, getRepo excepted: 3,000.
	PerIP int
	// GetRepo is getRepo requests per client address in 5 minutes: 6,000.
	GetRepo int
	// LoginDay and LoginFive are createSession calls per identifier and client
	// address, in a day and in 5 minutes: 300 and 30.
	LoginDay, LoginFive int
	// Signup is createAccount calls per client address in 5 minutes: 100.
	Signup int
}

// or is v, or d where v is zero.
func or[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

// withDefaults fills the zero fields.
func (c Config) withDefaults() Config {
	c.MaxBuffer = or(c.MaxBuffer, 500)
	c.Backfill = or(c.Backfill, 24*time.Hour)
	c.AccessTTL = or(c.AccessTTL, 2*time.Hour)
	c.RefreshTTL = or(c.RefreshTTL, 90*24*time.Hour)
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if len(c.Accounts) == 0 {
		c.Accounts = []AccountConfig{{Handle: "alice.test"}}
	}
	l := &c.Limits
	l.WriteHour, l.WriteDay = or(l.WriteHour, 5000), or(l.WriteDay, 35000)
	l.PerIP, l.GetRepo = or(l.PerIP, 3000), or(l.GetRepo, 6000)
	l.LoginDay, l.LoginFive = or(l.LoginDay, 300), or(l.LoginFive, 30)
	l.Signup = or(l.Signup, 100)
	return c
}
