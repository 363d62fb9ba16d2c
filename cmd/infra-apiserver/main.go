// Command infra-apiserver serves the API group socialweb.computer, whose objects
// are records of atproto repositories.
package main

import (
	"os"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
)

func main() {
	os.Exit(cli.Run(newCommand(genericapiserver.SetupSignalContext(), os.Args[0])))
}
