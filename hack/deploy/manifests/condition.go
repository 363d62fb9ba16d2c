package manifests

// Variant is one way to deploy: what the kustomization chooses by components and
// the chart by values.
type Variant struct {
	// Etcd says where the server's etcd is.
	Etcd Etcd
	// CertManager has cert-manager issue the serving certificate. Else the server
	// makes and renews it itself.
	CertManager bool
}

// Etcd is where the server's etcd is.
type Etcd int

// Of the three, EtcdUnset can't run: it is the base that one of the others
// completes.
const (
	EtcdUnset Etcd = iota
	EtcdInCluster
	EtcdExternal
)

// Condition tells the variants that have an object, or an item of a list, from
// those that don't. The zero value holds for all.
type Condition struct {
	// Holds in a variant; nil: in all.
	Holds func(Variant) bool
	// Helm is the same as a pipeline of a chart's template.
	Helm string
}

// In says whether the condition holds in a variant.
func (c Condition) In(v Variant) bool { return c.Holds == nil || c.Holds(v) }

// The conditions there are.
var (
	inClusterEtcd     = Condition{func(v Variant) bool { return v.Etcd == EtcdInCluster }, ".Values.etcd.enabled"}
	externalEtcd      = Condition{func(v Variant) bool { return v.Etcd == EtcdExternal }, "not .Values.etcd.enabled"}
	ownCertificate    = Condition{func(v Variant) bool { return !v.CertManager }, "not .Values.certManager.enabled"}
	certManager       = Condition{func(v Variant) bool { return v.CertManager }, ".Values.certManager.enabled"}
	networkPolicy     = Condition{nil, ".Values.networkPolicy.enabled"}
	etcdNetwork       = Condition{inClusterEtcd.Holds, "and .Values.networkPolicy.enabled .Values.etcd.enabled"}
	hasController     = Condition{nil, ".Values.controller.enabled"}
	controllerNetwork = Condition{nil, "and .Values.networkPolicy.enabled .Values.controller.enabled"}
	hasPriority       = Condition{nil, ".Values.priorityClassName"}
	makesCredentials  = Condition{nil, ".Values.credentials.createNamespace"}
)
