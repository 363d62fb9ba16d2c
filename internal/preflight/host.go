package preflight

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

const (
	admissionGroup   = "admissionregistration.k8s.io"
	flowControlGroup = "flowcontrol.apiserver.k8s.io"
	// hostVersion is the version of both that the libraries of this server read.
	hostVersion = "v1"
)

// admissionResources are what the admission plug-ins of an aggregated server read.
var admissionResources = []string{
	"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
	"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
}

// pluginOf names the admission plug-in that can't work without a resource.
var pluginOf = map[string]string{
	"mutatingadmissionpolicies":       "MutatingAdmissionPolicy",
	"mutatingwebhookconfigurations":   "MutatingAdmissionWebhook",
	"validatingadmissionpolicies":     "ValidatingAdmissionPolicy",
	"validatingwebhookconfigurations": "ValidatingAdmissionWebhook",
}

// Host is what a cluster can do, of what older or trimmed ones can't.
type Host struct {
	// FlowControl says that it has the API of priority and fairness.
	FlowControl bool

	admission map[string]bool
}

// Serves tells whether the cluster serves a resource of the admission group.
func (h Host) Serves(group, resource string) bool {
	return group == admissionGroup && h.admission[resource]
}

// LackingPlugins are the admission plug-ins that would wait for ever for an API
// that the cluster doesn't have.
func (h Host) LackingPlugins() []string {
	var out []string
	for _, r := range admissionResources {
		if plugin := pluginOf[r]; plugin != "" && !h.admission[r] {
			out = append(out, plugin)
		}
	}
	return out
}

func hostOf(d discovery.DiscoveryInterface) (Host, error) {
	h := Host{admission: map[string]bool{}}
	admission, err := resources(d, admissionGroup)
	if err != nil {
		return h, err
	}
	for _, r := range admission {
		h.admission[r.Name] = true
	}
	flow, err := resources(d, flowControlGroup)
	h.FlowControl = len(flow) > 0
	return h, err
}

func resources(d discovery.DiscoveryInterface, group string) ([]metav1.APIResource, error) {
	list, err := d.ServerResourcesForGroupVersion(group + "/" + hostVersion)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s/%s: %w", group, hostVersion, err)
	}
	return list.APIResources, nil
}
