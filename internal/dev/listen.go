package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// listen takes a port on 127.0.0.1. flag names what to change where the port is
// taken.
func listen(ctx context.Context, port int, flag string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, portTaken(port, flag)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s %d: this user may not listen on it: choose a port from 1024 on (0: any free one)", flag, port)
	case err != nil:
		return nil, fmt.Errorf("%s %d: %w", flag, port, err)
	}
	return l, nil
}

func portTaken(port int, flag string) error {
	return fmt.Errorf("%s %d: the port is taken on 127.0.0.1: end what uses it, or choose another (0: any free one)", flag, port)
}
