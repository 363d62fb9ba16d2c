package harness

import "time"

// Options of a plane. The zero value is two replicas and the flags of production,
// as far as loopback allows.
type Options struct {
	// Replicas of infra-apiserver; 0: two.
	Replicas int
	// Accounts of the PDS beside "alice", whose the default AtprotoRepo is.
	Accounts []string
	// Controllers is how many there are of infra-controller, of which one leads.
	Controllers int
	// APIServerFlags, ControllerManagerFlags, ReplicaFlags and ControllerFlags follow
	// ours on the command lines. "{dir}" in them is the plane's directory.
	APIServerFlags, ControllerManagerFlags, ReplicaFlags, ControllerFlags []string
	// Files are written to the plane's directory before anything starts: what the
	// flags name. The key is the path below it.
	Files map[string]string
	// NoControllerManager leaves it out.
	NoControllerManager bool
	// NoRepo leaves out the AtprotoRepo "default": objects are private then.
	NoRepo bool
	// EndpointDelay is how long new connections still go to a replica that was told
	// to end: what a cluster takes to tell its nodes.
	EndpointDelay time.Duration
}

const (
	// Namespace, in which the server runs.
	Namespace = "infra-system"
	// ServiceName of its Service.
	ServiceName = "infra-apiserver"
	// ServiceAccount that it runs as.
	ServiceAccount = "infra-apiserver"
	// CredentialsNamespace holds the credentials of accounts.
	CredentialsNamespace = "infra-credentials"
	// RepoName is the default AtprotoRepo, and the name of its credentials.
	RepoName = "default"

	// ownerName is the account of the default AtprotoRepo.
	ownerName = "alice"

	// startTimeout bounds the start of each part, on a machine that does much else.
	// A start takes seconds.
	startTimeout = 3 * time.Minute
	// stopTimeout is what a process gets between SIGTERM and SIGKILL: the
	// terminationGracePeriodSeconds of the Deployment.
	stopTimeout = 90 * time.Second
	// poll is how often a starting part is asked.
	poll = 50 * time.Millisecond
)
