package manifests

import "k8s.io/apimachinery/pkg/runtime"

// Object is one object of a deployment, with everything that any variant has.
type Object struct {
	// File holds the object, with others of the same subject and condition.
	File string
	// Doc says what it is for. It becomes a comment.
	Doc string
	// When tells the variants that have the object.
	When Condition
	// KustomizeOnly objects aren't in the chart: Helm makes the release's namespace.
	KustomizeOnly bool
	// Typed is the object.
	Typed runtime.Object
	// Items are the conditions of values within the object.
	Items []Item
}

// Item is a value within an object that not every variant has.
type Item struct {
	When Condition
	// Path leads to it: keys of maps, and "[x]" for the item of a list that is
	// named x, or the string that begins with x.
	Path []string
}

// Objects are all objects of all variants, in the order in which they are written.
func Objects() []Object {
	var all []Object
	for _, some := range [][]Object{
		namespaces(), identity(), rbac(), servingCertificate(), certManagerCertificate(), roles(),
		server(), network(), etcd(), registration(), controllerIdentity(), controller(),
	} {
		all = append(all, some...)
	}
	return all
}
