package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/controller/lifecycle"
)

const (
	// clusterAnnotation names the workspace on every object.
	clusterAnnotation = "kcp.io/cluster"
	// defaultWorkspace is that of a server that has one only.
	defaultWorkspace = "default"
	// kindContract beside the kinds of deployments.
	kindContract = "ComputeContract"
)

// Key names an object to reconcile.
type Key struct {
	// Kind is Infra, EphemeralInfra or ComputeContract.
	Kind string
	// Workspace and Name of the object.
	Workspace, Name string
}

// String is for logs.
func (k Key) String() string { return k.Kind + " " + k.Workspace + "/" + k.Name }

// GetNamespace makes a Key an object to klog: the workspace stands where a namespace
// does.
func (k Key) GetNamespace() string { return k.Workspace }

// GetName makes a Key an object to klog.
func (k Key) GetName() string { return k.Name }

func (k Key) cacheKey() string { return k.Workspace + "/" + k.Name }

// keyOf an object of a kind.
func keyOf(kind string, o metav1.Object) Key { return Key{kind, workspaceOf(o), o.GetName()} }

// keyOfDeployment is the key of a deployment.
func keyOfDeployment(d *lifecycle.Deployment) Key { return keyOf(d.Kind, d) }

func workspaceOf(o metav1.Object) string {
	if ws := o.GetAnnotations()[clusterAnnotation]; ws != "" {
		return ws
	}
	return defaultWorkspace
}
