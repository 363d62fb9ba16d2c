// Package command is the program infra-controller: its flags, its election and its
// endpoint around the controller.
package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/config"
	"k8s.io/component-base/config/options"

	"socialweb.computer/infra-apiserver/internal/controller"
	"socialweb.computer/infra-apiserver/internal/kcp/export"
)

const (
	// programName in Leases, Events and to servers.
	programName = "infra-controller"
	// defaultNamespace of the Lease.
	defaultNamespace = "infra-system"
)

// Options of the program. NewOptions makes good ones.
type Options struct {
	// Kubeconfig of the host cluster: of the Lease, of Events and, through its
	// aggregator, of the API. "": that of the pod.
	Kubeconfig string
	// ServerKubeconfig of the API server where it is reached directly.
	ServerKubeconfig string
	// ContractsKubeconfig of the server of the ComputeContracts, where that is another.
	ContractsKubeconfig string
	// Workspaces keeps all workspaces, by their own doors.
	Workspaces bool
	// KCPKubeconfig of the workspace of kcp that has the APIExport which the workspaces
	// bind; "": no workspace goes away.
	KCPKubeconfig string
	// KCPExport is the name of the APIExport.
	KCPExport string
	// Workers is how many objects are reconciled at once.
	Workers int
	// QPS and Burst limit the calls to each server, by second.
	QPS   float32
	Burst int
	// Events are written to the host cluster.
	Events bool
	// HealthAddress to serve /livez, /readyz, /healthz and /metrics at; "": nowhere.
	HealthAddress string
	// Election by a Lease of the host cluster.
	Election config.LeaderElectionConfiguration
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		KCPExport: export.DefaultExport,
		Workers:   controller.DefaultWorkers,
		QPS:       100,
		Burst:     200,
		Events:    true,
		Election: config.LeaderElectionConfiguration{
			LeaderElect:       true,
			LeaseDuration:     metav1.Duration{Duration: 15 * time.Second},
			RenewDeadline:     metav1.Duration{Duration: 10 * time.Second},
			RetryPeriod:       metav1.Duration{Duration: 2 * time.Second},
			ResourceLock:      "leases",
			ResourceName:      programName,
			ResourceNamespace: defaultNamespace,
		},
	}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "kubeconfig file of the host cluster: of the Lease, of Events and, through its aggregator, of the API. Empty: that of the pod's service account.")
	fs.StringVar(&o.ServerKubeconfig, "server-kubeconfig", o.ServerKubeconfig, "kubeconfig file of the API server, where it is reached directly. Empty: the host cluster.")
	fs.StringVar(&o.ContractsKubeconfig, "contracts-kubeconfig", o.ContractsKubeconfig, "kubeconfig file of the server of the ComputeContracts, where another serves them. Empty: the server of the Infras.")
	fs.BoolVar(&o.Workspaces, "workspaces", o.Workspaces, "Keep all workspaces, by /clusters/<workspace>/apis/…. Off: the one at /apis/….")
	fs.StringVar(&o.KCPKubeconfig, "kcp-kubeconfig", o.KCPKubeconfig, "kubeconfig file of the workspace of kcp that has the APIExport: the objects of workspaces that don't bind it any more are kept, and nothing new is requested for them. Its user needs get on apiexportendpointslices and list on apiexports/content there. Empty: no workspace goes away.")
	fs.StringVar(&o.KCPExport, "kcp-export", o.KCPExport, "Name of the APIExport, and of its APIExportEndpointSlice.")
	fs.IntVar(&o.Workers, "concurrent-syncs", o.Workers, "How many objects are reconciled at once.")
	fs.Float32Var(&o.QPS, "kube-api-qps", o.QPS, "Calls a second to each server, on average.")
	fs.IntVar(&o.Burst, "kube-api-burst", o.Burst, "Calls to each server at once.")
	fs.BoolVar(&o.Events, "events", o.Events, "Write an Event to the host cluster for each change of a phase.")
	fs.StringVar(&o.HealthAddress, "health-address", o.HealthAddress, "Address, like :8080, at which /livez, /readyz, /healthz and /metrics are served over HTTP. Empty: nowhere.")
	options.BindLeaderElectionFlags(&o.Election, fs)
}

// Validate tells everything that is wrong with the options.
func (o *Options) Validate() error {
	var errs []error
	if o.Workers < 1 {
		errs = append(errs, fmt.Errorf("--concurrent-syncs %d: must be 1 or more", o.Workers))
	}
	if o.QPS <= 0 || o.Burst < 1 {
		errs = append(errs, fmt.Errorf("--kube-api-qps %g, --kube-api-burst %d: both must be positive", o.QPS, o.Burst))
	}
	if o.KCPKubeconfig != "" && !o.Workspaces {
		errs = append(errs, fmt.Errorf("--kcp-kubeconfig %q: needs --workspaces: without it the one at /apis/… is kept, which doesn't go away", o.KCPKubeconfig))
	}
	e := &o.Election
	if !e.LeaderElect {
		return errors.Join(errs...)
	}
	if e.ResourceLock != "leases" {
		errs = append(errs, fmt.Errorf("--leader-elect-resource-lock %q: must be leases", e.ResourceLock))
	}
	if e.ResourceName == "" || e.ResourceNamespace == "" {
		errs = append(errs, errors.New("--leader-elect-resource-name and --leader-elect-resource-namespace must not be empty"))
	}
	if e.RetryPeriod.Duration <= 0 || e.RenewDeadline.Duration <= e.RetryPeriod.Duration || e.LeaseDuration.Duration <= e.RenewDeadline.Duration {
		errs = append(errs, fmt.Errorf("--leader-elect-lease-duration %s must be more than --leader-elect-renew-deadline %s, and that more than --leader-elect-retry-period %s",
			e.LeaseDuration.Duration, e.RenewDeadline.Duration, e.RetryPeriod.Duration))
	}
	return errors.Join(errs...)
}
