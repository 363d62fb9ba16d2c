// Command deploy writes the manifests of a deployment and the container image.
//
//	deploy manifests DIR    the kustomization and the Helm chart
//	deploy image …          the image as an OCI layout, see its -help
//	deploy push LAYOUT NAME that image to a registry
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"socialweb.computer/infra-apiserver/hack/deploy/image"
	"socialweb.computer/infra-apiserver/hack/deploy/render"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "manifests":
		return render.Write(args[1])
	case len(args) > 0 && args[0] == "image":
		return buildImage(ctx, args[1:])
	case len(args) == 3 && args[0] == "push":
		pushed, err := image.Push(ctx, args[1], args[2])
		if err == nil {
			fmt.Println(pushed)
		}
		return err
	}
	return errors.New("say: deploy manifests DIR, deploy image -help, or deploy push LAYOUT NAME")
}
