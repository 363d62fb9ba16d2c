package testpds

import (
	"net"
	"net/url"
	"strconv"
	"testing"

	"socialweb.computer/infra-apiserver/internal/devpds"
	"socialweb.computer/infra-apiserver/internal/testport"
)

// StartDev starts the embedded PDS on loopback, as StartReference starts the
// reference: in memory, unless Options.DataDir keeps its data. It ends with the
// test.
func StartDev(t testing.TB, o Options) *Server {
	t.Helper()
	c := devpds.Config{
		Dir: o.DataDir, Memory: o.DataDir == "",
		Limits: devpds.Limits{Enabled: o.RateLimits}, MaxBuffer: o.MaxBuffer, Backfill: o.Backfill,
	}
	c.ListenAddr = net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port))
	if o.Port == 0 {
		free, err := testport.Free() // another start may be there again
		if err != nil {
			t.Fatalf("embedded PDS: %v", err)
		}
		c.ListenAddr = free
	}
	for _, name := range o.accounts() {
		c.Accounts = append(c.Accounts, devpds.AccountConfig{Handle: name + ".test"})
	}
	p, err := devpds.Open(c)
	if err != nil {
		t.Fatalf("embedded PDS: %v", err)
	}
	stop := func() {
		if err := p.Close(); err != nil {
			t.Errorf("embedded PDS: close: %v", err)
		}
	}
	t.Cleanup(stop)
	u, err := url.Parse(p.URL())
	if err != nil {
		t.Fatalf("embedded PDS: %v", err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatalf("embedded PDS: %v", err)
	}
	s := &Server{
		URL: p.URL(), PLCURL: p.URL(), AdminPassword: p.AdminPassword(),
		DataDir: o.DataDir, Port: port, Stop: stop, Kill: stop,
	}
	for _, a := range p.Accounts() {
		s.Accounts = append(s.Accounts, Account{Handle: a.Handle, DID: a.DID, Password: a.Password})
	}
	return s
}
