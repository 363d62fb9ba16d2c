// Command deploy writes the manifests of a deployment and the container image.
//
//	deploy manifests DIR    the kustomization and the Helm chart
//	deploy image …          the image as an OCI layout, see its -help
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"socialweb.computer/infra-apiserver/hack/deploy/render"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "manifests":
		return render.Write(args[1])
	case len(args) > 0 && args[0] == "image":
		return buildImage(context.Background(), args[1:])
	}
	return errors.New("say: deploy manifests DIR, or deploy image -help")
}
