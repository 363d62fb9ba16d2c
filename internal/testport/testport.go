// Package testport has ports of loopback for tests whose servers end and start again at
// the same one.
package testport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports are below those that systems give away by themselves: while nothing listens
// at one, neither a server on any port nor a client's connection takes it.
const (
	first = 10_000
	end   = 32_000
	tries = 100
)

// Listen listens at a free port of 127.0.0.1.
func Listen() (net.Listener, error) {
	var last error
	for range tries {
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(end-first))))
		if err == nil {
			return l, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no free port of loopback in %d tries: %w", tries, last)
}

// Free is the address of a port that Listen has found free.
func Free() (string, error) {
	l, err := Listen()
	if err != nil {
		return "", err
	}
	if err := l.Close(); err != nil {
		return "", fmt.Errorf("free port of loopback: %w", err)
	}
	return l.Addr().String(), nil
}
