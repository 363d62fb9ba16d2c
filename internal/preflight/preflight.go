package preflight

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Config says what is looked for.
type Config struct {
	// Client is how the cluster is asked; its rights are those that are looked at.
	Client *rest.Config
	// As is whose rights are looked at; its zero value: Client's.
	As rest.ImpersonationConfig
	// APIService is the name, VERSION.GROUP, of the one that hands the group over to
	// the server. "": nobody looks at CRDs.
	APIService string
	// AuthenticationLookup says that the server reads from the cluster, as Client,
	// whom to believe.
	AuthenticationLookup bool
	// TokenReviews and AccessReviews say that the server asks the cluster, as Client,
	// who somebody is and what they may do.
	TokenReviews, AccessReviews bool
	// Admission and PriorityAndFairness say that the server has these on.
	Admission, PriorityAndFairness bool
	// ServingSecret holds the serving certificate that the server keeps itself.
	ServingSecret Name
	// PatchAPIService says that the server keeps the APIService's caBundle.
	PatchAPIService bool
	// CredentialsNamespace has the Secrets of accounts; "": none are in the cluster.
	CredentialsNamespace string
}

// Name of an object in a namespace. Its zero value is none.
type Name struct{ Namespace, Name string }

// Finding is a fault and what mends it.
type Finding struct {
	// Fault says what is missing or in the way, in one line.
	Fault string
	// Remedy is a command line.
	Remedy string
}

// String is one line for a log.
func (f Finding) String() string { return f.Fault + "; mend it: " + f.Remedy }

// Report of a look at a cluster.
type Report struct {
	// Findings keep the server from working.
	Findings []Finding
	// Warnings don't: the server works, and something else, or a part of it, may not.
	Warnings []Finding
	// Host is what the cluster can do.
	Host Host
	// Authorities are those, in PEM, of client certificates and of the front proxy,
	// where the server reads them from the cluster.
	Authorities []string
}

// Run looks at the cluster. An error means that it could not be asked: it isn't
// there, or doesn't know us.
func Run(ctx context.Context, c Config) (*Report, error) {
	config := rest.CopyConfig(c.Client)
	// A look is some dozens of small requests.
	config.QPS, config.Burst = 50, 100
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preflight: %w", err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preflight: %w", err)
	}
	config.Impersonate = c.As
	self, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preflight: %w", err)
	}
	l := look{Config: c, client: client, self: self, objects: objects}
	return l.run(ctx)
}

// look is one look. self has the rights that are looked at, client those that look.
type look struct {
	Config
	client  kubernetes.Interface
	self    kubernetes.Interface
	objects dynamic.Interface
}

func (l look) run(ctx context.Context) (*Report, error) {
	// An old cluster doesn't tell who we are: the commands then name the service
	// account that the manifests have.
	who := defaultAccount
	if self, err := l.self.AuthenticationV1().SelfSubjectReviews().Create(ctx, newSelfSubjectReview(), metav1.CreateOptions{}); err == nil {
		who = self.Status.UserInfo.Username
	} else if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("preflight: who we are: %w", err)
	}
	var r Report
	var err error
	if r.Host, err = hostOf(l.client.Discovery()); err != nil {
		return nil, fmt.Errorf("preflight: what the cluster serves: %w", err)
	}
	grants := l.grants(r.Host)
	missing, err := l.missing(ctx, grants)
	if err != nil {
		return nil, fmt.Errorf("preflight: rights: %w", err)
	}
	for i, g := range grants {
		switch {
		case len(missing[i]) == 0:
		case g.unless != "":
			r.Warnings = append(r.Warnings, g.finding(who, missing[i]))
		default:
			r.Findings = append(r.Findings, g.finding(who, missing[i]))
		}
	}
	if l.AuthenticationLookup && len(r.Findings) == 0 {
		if err := l.frontProxy(ctx, &r); err != nil {
			return nil, err
		}
	}
	return &r, l.hidden(ctx, &r)
}

// frontProxy looks for the ConfigMap by which kube-apiserver names the authorities
// of its clients and of its own proxy.
func (l look) frontProxy(ctx context.Context, r *Report) error {
	const name = "extension-apiserver-authentication"
	m, err := l.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		r.Findings = append(r.Findings, Finding{
			Fault:  "ConfigMap kube-system/" + name + " doesn't exist: kube-apiserver makes it when it starts",
			Remedy: "kubectl -n kube-system get configmap " + name,
		})
	case err != nil:
		return fmt.Errorf("preflight: ConfigMap kube-system/%s: %w", name, err)
	case m.Data["requestheader-client-ca-file"] == "":
		r.Findings = append(r.Findings, Finding{
			Fault:  "ConfigMap kube-system/" + name + " has no requestheader-client-ca-file: kube-apiserver runs without aggregation",
			Remedy: "start kube-apiserver with --requestheader-client-ca-file and --proxy-client-cert-file",
		})
	default:
		for _, key := range []string{"client-ca-file", "requestheader-client-ca-file"} {
			if pem := m.Data[key]; pem != "" {
				r.Authorities = append(r.Authorities, pem)
			}
		}
	}
	return nil
}

// Unauthorized tells whether an error of Run says that the cluster doesn't know us.
func Unauthorized(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusUnauthorized
}
