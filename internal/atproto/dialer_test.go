package atproto

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestPublicAddr(t *testing.T) {
	for addr, want := range map[string]bool{
		"1.1.1.1": true, "93.184.216.34": true, "2606:4700::1111": true, "2a00:1450:4001::1": true,
		"0.0.0.0": false, "0.1.2.3": false, "127.0.0.1": false, "127.9.9.9": false, "10.0.0.1": false,
		"172.16.0.1": false, "172.32.0.1": true, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "100.127.255.255": false, "100.128.0.1": true, "192.0.0.8": false, "192.0.2.1": false,
		"198.18.0.1": false, "198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "239.1.1.1": false,
		"240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "fe80::1": false, "fc00::1": false, "fd12::1": false, "fec0::1": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:1.1.1.1": true, "::7f00:1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::1": false, "2002:7f00:1::": false, "2001::1": false, "2001:db8::1": false,
		"100::1": false, "fe80::1%eth0": false,
	} {
		if got := PublicAddr(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v, want %v", addr, got, want)
		}
	}
	if PublicAddr(netip.Addr{}) {
		t.Error("the invalid address is public")
	}
}

// The check is made on the address that is dialled, so neither a name nor an odd
// spelling gets around it.
func TestPrivateAddressesAreRefused(t *testing.T) {
	var reached bool
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer s.Close()
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"} {
		h := NewHTTPClient(false)
		cfg := Config{PDS: "http://" + host + port, DID: testDID, Auth: staticAuth("x"), HTTP: h, Keys: noKeys{}}
		c, err := NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{put(c), get(c)} {
			if !errors.Is(err, ErrAddressRefused) || !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: %v", host, err)
			}
		}
		h.CloseIdleConnections()
	}
	if reached {
		t.Error("a private address was reached")
	}
	h := NewHTTPClient(true)
	defer h.CloseIdleConnections()
	resp, err := h.Get(s.URL)
	if err != nil || !reached {
		t.Fatalf("allowed, but: %v", err)
	}
	_ = resp.Body.Close()
}

func TestNormalizeHost(t *testing.T) {
	for raw, want := range map[string]string{
		"https://PDS.Example": "https://pds.example", "https://pds.example/": "https://pds.example",
		"HTTP://localhost:2583": "http://localhost:2583", "": "", "pds.example": "", "ftp://pds.example": "",
		"https://": "", "https://u:p@pds.example": "", "https://pds.example/x": "", "https://pds.example?x=1": "",
	} {
		got, err := NormalizeHost(raw)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", raw, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "u:p@") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}
