package apiserver

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"socialweb.computer/infra-apiserver/internal/preflight"
)

// ServingOptions say where the server keeps its serving certificate, where none is
// given as files.
type ServingOptions struct {
	// Secret is <namespace>/<name> of the Secret of all replicas; "": in a pod, that
	// of its namespace, elsewhere none.
	Secret string
	// Service is the name of the Service, in the Secret's namespace, that the
	// certificate is for.
	Service string
	// APIService is the name of the one that trusts the certificate; "": it is none
	// of the server's business.
	APIService string
	// ClusterDomain of the Service's long name.
	ClusterDomain string
}

const (
	defaultServingSecret  = "infra-apiserver-serving"
	defaultServingService = "infra-apiserver"
)

// podNamespace is where a pod reads its namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// AddFlags binds the options to flags.
func (o *ServingOptions) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Secret, "serving-cert-secret", o.Secret,
		"The Secret, as NAMESPACE/NAME, in which all replicas keep their serving certificate and its authority, and renew them. "+
			"Empty: in a pod, "+defaultServingSecret+" in its namespace. It is used where there is no --tls-cert-file.")
	fs.StringVar(&o.Service, "serving-cert-service", o.Service,
		"The Service, in the namespace of --serving-cert-secret, whose names the certificate has: SERVICE.NAMESPACE.svc, and the same with --cluster-domain.")
	fs.StringVar(&o.APIService, "serving-cert-apiservice", o.APIService,
		"The APIService whose caBundle follows the certificate's authorities, and that must not hide CustomResourceDefinitions. Empty: none.")
	fs.StringVar(&o.ClusterDomain, "cluster-domain", o.ClusterDomain, "The DNS domain of the cluster's Services.")
}

// complete fills in what a pod knows. files says that the certificate comes as
// files.
func (o *ServingOptions) complete(files bool) {
	if o.Secret != "" || files {
		return
	}
	if ns, err := os.ReadFile(podNamespace); err == nil { // no file, no pod
		o.Secret = strings.TrimSpace(string(ns)) + "/" + defaultServingSecret
	}
}

// check tells everything that is wrong with the options.
func (o *ServingOptions) check(files bool) []error {
	if o.Secret == "" {
		return nil
	}
	var errs []error
	namespace, name, ok := strings.Cut(o.Secret, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		errs = append(errs, fmt.Errorf("--serving-cert-secret %q: is not a Secret: write it like infra-system/%s", o.Secret, defaultServingSecret))
	}
	if files {
		errs = append(errs, fmt.Errorf("--serving-cert-secret %q and --tls-cert-file exclude each other: leave one out", o.Secret))
	}
	if len(validation.IsDNS1123Label(o.Service)) > 0 {
		errs = append(errs, fmt.Errorf("--serving-cert-service %q: can't be a Service: write it like %s", o.Service, defaultServingService))
	}
	if len(validation.IsDNS1123Subdomain(o.ClusterDomain)) > 0 {
		errs = append(errs, fmt.Errorf("--cluster-domain %q: is not a domain: write it like cluster.local", o.ClusterDomain))
	}
	return errs
}

// secret is where the certificate is kept; its zero value: nowhere.
func (o *ServingOptions) secret() preflight.Name {
	namespace, name, _ := strings.Cut(o.Secret, "/")
	return preflight.Name{Namespace: namespace, Name: name}
}

// names of the certificate.
func (o *ServingOptions) names() []string {
	service := o.Service + "." + o.secret().Namespace + ".svc"
	return []string{service, service + "." + o.ClusterDomain}
}
