package testport

import (
	"net"
	"testing"
)

// What one process has got no other gets, also while nothing listens there.
func TestPortsAreClaimed(t *testing.T) {
	t.Parallel()
	address, err := Free()
	if err != nil {
		t.Fatal(err)
	}
	if l, err := listen(address); err == nil {
		t.Errorf("%s was given away twice", l.Addr())
	}
	l, err := net.Listen("tcp4", address) // its server
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// What is free can be listened at, again and again, and isn't one that others get.
func TestPorts(t *testing.T) {
	t.Parallel()
	address, err := Free()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l, err := net.Listen("tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		if port := l.Addr().(*net.TCPAddr).Port; port < first || port >= end {
			t.Errorf("port %d", port)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
