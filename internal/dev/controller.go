package dev

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/internal/controller"
)

// startController runs the controller over the server's own connection until ctx
// ends or end is called, and returns when it is at work. There is one process, so
// nobody is elected, and no API that takes Events, so changes are logged.
func startController(ctx context.Context, steps *Steps, server *rest.Config, deadlines clock.WithTicker) (end func() error, err error) {
	c, err := controller.New(controller.Config{Server: server, Workspaces: true, Clock: deadlines})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	end = func() error {
		cancel()
		if err := <-ended; err != nil {
			return fmt.Errorf("controller: %w", err)
		}
		return nil
	}
	err = steps.Do(ctx, "controller", func(ctx context.Context) (string, error) {
		select {
		case <-c.Ready():
			return "requests and releases contracts", nil
		case <-ctx.Done():
			return "", ctx.Err()
		case err := <-ended:
			ended <- err
			return "", fmt.Errorf("ended by itself: %w", err)
		}
	})
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}
