package dev

import (
	"io"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"socialweb.computer/infra-apiserver/pkg/apiserver"
)

const (
	// DefaultPort of the API server.
	DefaultPort = 7443
	// DefaultPDSPort of the embedded PDS.
	DefaultPDSPort = 2583
	// DefaultDataDir is relative to where the process was started.
	DefaultDataDir = ".infra"
)

// Options of dev. NewOptions makes good ones.
type Options struct {
	// DataDir holds everything that is kept.
	DataDir string
	// Port of the API server on 127.0.0.1; 0: any free one.
	Port int
	// PDSPort of the embedded PDS on 127.0.0.1; 0: any free one.
	PDSPort int
	// Workspaces opens the door /clusters/<workspace>/….
	Workspaces bool
	// KCP says how the server stands behind kcp.
	KCP *apiserver.KCPOptions
	// Controller runs the controller beside the server. It needs ComputeContracts.
	Controller bool
	// ComputeContracts serves the kind ComputeContract.
	ComputeContracts bool

	// PDS is the base URL of a PDS to use in place of the embedded one.
	PDS string
	// Identifier (a handle or a DID) of the account at PDS.
	Identifier string
	// PasswordFile holds the account's password, or an app password.
	PasswordFile string
	// PLC is the did:plc directory of the account at PDS; "": the public one, or
	// the PDS's own word where it is on loopback.
	PLC string

	// Out gets the start steps.
	Out io.Writer
	// Clock for times that are shown and certificates that expire.
	Clock clock.PassiveClock
	// Deadlines is the controller's clock; nil: the real one.
	Deadlines clock.WithTicker
	// given tells whether a flag is on the command line; nil: there is none.
	given func(flag string) bool
	// Ready is called once, when the server is ready. Nil: nobody wants to know.
	Ready func(Info)
}

// Info tells where the parts of a running dev are.
type Info struct {
	// Server is the base URL of the API server.
	Server string
	// Kubeconfig is the path of the admin's kubeconfig.
	Kubeconfig string
	// PDS tells where the PDS is.
	PDS PDSInfo
	// Etcd is its endpoint, as --etcd-servers takes it.
	Etcd string
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		DataDir:          DefaultDataDir,
		Port:             DefaultPort,
		PDSPort:          DefaultPDSPort,
		KCP:              apiserver.NewKCPOptions(),
		ComputeContracts: true,
		Controller:       true,
		Out:              os.Stdout,
		Clock:            clock.RealClock{},
	}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.given = fs.Changed
	fs.StringVar(&o.DataDir, "data-dir", o.DataDir, "Directory that holds everything that is kept. One process can use it at a time.")
	fs.IntVar(&o.Port, "secure-port", o.Port, "Port of the API server on 127.0.0.1. 0: any free one.")
	fs.IntVar(&o.PDSPort, "pds-port", o.PDSPort, "Port of the embedded PDS on 127.0.0.1. 0: any free one.")
	fs.BoolVar(&o.Workspaces, "workspaces", o.Workspaces, "Serve /clusters/<workspace>/apis/… too.")
	o.KCP.AddFlags(fs)
	fs.BoolVar(&o.ComputeContracts, "serve-computecontracts", o.ComputeContracts, "Serve the kind ComputeContract. Off: it is served elsewhere.")
	fs.BoolVar(&o.Controller, "controller", o.Controller, "Run the controller, which requests and releases contracts. It needs the kind ComputeContract.")
	fs.StringVar(&o.PDS, "pds", o.PDS, "Base URL of a PDS to use in place of the embedded one. Needs --identifier and --password-file.")
	fs.StringVar(&o.Identifier, "identifier", o.Identifier, "Handle or DID of the account at --pds.")
	fs.StringVar(&o.PasswordFile, "password-file", o.PasswordFile, "File with the password, or an app password, of the account at --pds.")
	fs.StringVar(&o.PLC, "plc-url", o.PLC, "The did:plc directory of the account at --pds. Empty: https://plc.directory, or the PDS's own word where it is on loopback.")
}
