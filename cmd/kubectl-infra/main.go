// Command kubectl-infra is a kubectl plugin for deployments: with it on the PATH,
// `kubectl infra` shows and moves them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that kubectl has

	"socialweb.computer/infra-apiserver/internal/kubectlinfra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := kubectlinfra.Run(ctx, os.Args[1:], kubectlinfra.Streams{Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
