package atproto

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// Dialer opens TCP connections to PDSes.
type Dialer interface {
	// DialContext connects to address, "host:port".
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// NewDialer makes a dialer. Unless allowPrivate, it connects to public unicast
// addresses alone: PDS hosts come from tenants, and a name may resolve to
// anything. The check is made on the very address that is dialled, after
// resolution, so a name that resolves differently the second time gains nothing.
func NewDialer(allowPrivate bool) Dialer {
	d := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	if !allowPrivate {
		d.Control = refusePrivate
	}
	return d
}

// refusePrivate is a net.Dialer.Control: address is the resolved IP and port.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrAddressRefused, address)
	}
	if !PublicAddr(ap.Addr()) {
		return fmt.Errorf("%w: %s is not a public address", ErrAddressRefused, ap.Addr())
	}
	return nil
}

// PublicAddr tells whether an address is a public unicast one: not loopback,
// private, shared (carrier-grade NAT), link-local, unique-local, multicast,
// documentation, benchmarking, reserved or unspecified, nor one of these inside
// an IPv4-mapped, NAT64, 6to4 or Teredo address (RFC 6890 and its registries).
func PublicAddr(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || a.Zone() != "" || !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range specialPrefixes {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// specialPrefixes are the special-purpose blocks that netip's predicates don't
// know. 64:ff9b::/96, 2002::/16 and 2001::/32 carry an IPv4 address that a
// translator would connect to.
var specialPrefixes = mustPrefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
	"2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
)

func mustPrefixes(ss ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(ss))
	for i, s := range ss {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}
