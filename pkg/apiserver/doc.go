// Package apiserver is the server of the API group socialweb.computer: options
// become a config, a completed config becomes a server.
//
//	o := apiserver.NewOptions()
//	o.AddFlags(flags)
//	err := o.Run(ctx) // Complete, Validate, Config, New, and serve until ctx ends
package apiserver
