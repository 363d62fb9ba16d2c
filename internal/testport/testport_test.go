package testport

import (
	"net"
	"testing"
)

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
