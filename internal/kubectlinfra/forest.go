package kubectlinfra

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// node is one line of a tree.
type node struct {
	name, state, phase, ready, age, detail string
	children                               []*node
}

// forest is what `tree` prints.
type forest struct {
	client, contracts *client
	now               time.Time
	trees             []*node
	// byOwner are the ComputeContracts that were read, by their deployment.
	byOwner map[types.UID][]*v1alpha1.ComputeContract
	// unserved says why there are none; "" if they could be read.
	unserved string
	// notes follow the trees.
	notes []string
}

func object(o runtime.Object) metav1.Object { return o.(metav1.Object) }

func (f *forest) age(m metav1.Object) string {
	return duration.HumanDuration(f.now.Sub(m.GetCreationTimestamp().Time))
}

// deployment makes the tree of one.
func (f *forest) deployment(d *deployment) *node {
	title := d.kind.name + "/" + d.name
	root := &node{name: title, phase: string(d.status.Phase), ready: readiness(d.status.Conditions), age: f.age(d.meta)}
	f.note(title, d.status.Conditions)
	owned := f.byOwner[d.meta.UID]
	for _, name := range contractNames(d, owned) {
		root.children = append(root.children, f.contract(d, name, owned))
	}
	return root
}

// contractNames are those that are declared, then those of which something is left.
func contractNames(d *deployment, owned []*v1alpha1.ComputeContract) []string {
	names := d.declared()
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i := range d.status.Contracts {
		add(d.status.Contracts[i].Name)
	}
	for i := range d.status.Requests {
		add(d.status.Requests[i].Contract)
	}
	for _, c := range owned {
		if name := c.Labels[v1alpha1.LabelContract]; name != "" {
			add(name)
		}
	}
	return names
}

func (f *forest) contract(d *deployment, name string, owned []*v1alpha1.ComputeContract) *node {
	n := &node{name: "Contract/" + name, state: "(dropped)"}
	for i := range d.spec.Contracts {
		if d.spec.Contracts[i].Name == name {
			n.state = string(d.spec.Contracts[i].State)
		}
	}
	var receipt string
	for i := range d.status.Contracts {
		if s := &d.status.Contracts[i]; s.Name == name {
			n.phase, n.detail, receipt = string(s.Phase), s.Message, s.Receipt
		}
	}
	for _, c := range owned {
		if c.Labels[v1alpha1.LabelContract] == name {
			n.children = append(n.children, f.computeContract(c))
		}
	}
	if len(n.children) > 0 {
		return n
	}
	for i := range d.status.Requests {
		if r := &d.status.Requests[i]; r.Contract == name {
			n.children = append(n.children, &node{name: "ComputeContract/" + r.ComputeContract, detail: f.absent(r)})
		}
	}
	if receipt != "" {
		n.children = append(n.children, receiptNode(receipt, ""))
	}
	return n
}

// absent says why a ComputeContract that the controller remembers isn't shown.
func (f *forest) absent(r *v1alpha1.ContractRequest) string {
	switch {
	case f.unserved != "":
		return "not shown"
	case r.UID == "":
		return "not created yet"
	}
	return "gone"
}

func (f *forest) computeContract(c *v1alpha1.ComputeContract) *node {
	n := &node{name: "ComputeContract/" + c.Name, phase: string(c.Status.Phase), ready: readiness(c.Status.Conditions), age: f.age(c)}
	if c.Spec.Release {
		n.state = "Released"
	}
	if c.Status.Winner != "" {
		n.detail = "won by " + c.Status.Winner
	}
	if c.Status.Endpoint != "" {
		n.children = append(n.children, &node{name: "Endpoint", detail: c.Status.Endpoint})
	}
	if r := c.Status.Receipt; r != nil {
		n.children = append(n.children, receiptNode(r.URI, r.CID))
	}
	return n
}

// receiptNode is the record in which the bidder confirms a contract.
func receiptNode(uri, cid string) *node {
	n := &node{name: "Receipt/" + recordKey(uri), detail: uri}
	if cid != "" {
		n.detail += ", " + cid
	}
	return n
}

// recordKey is the last segment of an at-uri.
func recordKey(uri string) string { return uri[strings.LastIndexByte(uri, '/')+1:] }

// collection makes the tree of one, with the deployments that it serves.
func (f *forest) collection(t target, obj runtime.Object, served map[string]*deployment) *node {
	var status *v1alpha1.InfraCollectionStatus
	switch o := obj.(type) {
	case *v1alpha1.InfraCollection:
		status = &o.Status
	case *v1alpha1.EphemeralInfraCollection:
		status = &o.Status
	}
	title := t.kind.name + "/" + t.name
	root := &node{name: title, ready: readiness(status.Conditions), age: f.age(object(obj))}
	f.note(title, status.Conditions)
	for i := range status.Children {
		c := &status.Children[i]
		if d := served[c.Name]; d != nil {
			root.children = append(root.children, f.deployment(d))
			delete(served, c.Name)
			continue
		}
		n := &node{name: "Record/" + recordKey(c.URI)}
		switch {
		case c.Conflict != "":
			n.detail = string(c.Conflict)
		case c.BoundBy != "":
			n.detail = "bound by " + c.BoundBy
		case c.Name != "":
			n.detail = "served as " + c.Name
		}
		root.children = append(root.children, n)
	}
	// The status says what was there a moment ago.
	var rest []string
	for name := range served {
		rest = append(rest, name)
	}
	slices.Sort(rest)
	for _, name := range rest {
		root.children = append(root.children, f.deployment(served[name]))
	}
	return root
}
