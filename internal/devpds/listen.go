package devpds

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// listenAgain listens on the configured address, or on the one of last time, so
// that what holds our URL (DID documents in caches, an AtprotoRepo's spec.pds)
// stays right.
func listenAgain(ctx context.Context, c Config) (net.Listener, error) {
	if c.ListenAddr != "" || c.Memory {
		return listenOn(ctx, or(c.ListenAddr, "127.0.0.1:0"))
	}
	file := filepath.Join(c.Dir, "address")
	last, _ := os.ReadFile(file) // none the first time; any trouble means a new port
	ln, err := listenOn(ctx, or(strings.TrimSpace(string(last)), "127.0.0.1:0"))
	if err != nil {
		if ln, err = listenOn(ctx, "127.0.0.1:0"); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(file, []byte(ln.Addr().String()+"\n"), 0o600); err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("keep the address: %w", err)
	}
	return ln, nil
}

func listenOn(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return ln, nil
}
