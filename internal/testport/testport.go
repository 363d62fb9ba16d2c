// Package testport has ports of loopback for tests whose servers end and start again at
// the same one.
package testport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The ports are below those that systems give away by themselves: while nothing listens
// at one, neither a server on any port nor a client's connection takes it.
const (
	first = 10_000
	end   = 32_000
	tries = 100
)

// claims are the UDP ports of the numbers that this process has given away. They are held
// until it ends, so that no other process's tests get one whose server is down.
var claims struct {
	sync.Mutex
	held []net.PacketConn
}

// Listen listens at a free port of 127.0.0.1, which stays this process's own.
func Listen() (net.Listener, error) {
	var last error
	for range tries {
		l, err := listen(net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(end-first))))
		if err == nil {
			return l, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no free port of loopback in %d tries: %w", tries, last)
}

func listen(address string) (net.Listener, error) {
	claim, err := net.ListenPacket("udp4", address)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp4", address)
	if err != nil {
		return nil, errors.Join(err, claim.Close())
	}
	claims.Lock()
	defer claims.Unlock()
	claims.held = append(claims.held, claim)
	return l, nil
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
