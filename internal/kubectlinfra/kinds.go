package kubectlinfra

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// kind is one of the kinds that a command can be given.
type kind struct {
	name, resource, singular, short string
	new, newList                    func() runtime.Object
	// children is the kind that a collection serves; nil: it is no collection.
	children *kind
}

var (
	infras = &kind{
		name: "Infra", resource: "infras", singular: "infra", short: v1alpha1.ShortNameInfra,
		new:     func() runtime.Object { return &v1alpha1.Infra{} },
		newList: func() runtime.Object { return &v1alpha1.InfraList{} },
	}
	ephemeralInfras = &kind{
		name: "EphemeralInfra", resource: "ephemeralinfras", singular: "ephemeralinfra", short: v1alpha1.ShortNameEphemeralInfra,
		new:     func() runtime.Object { return &v1alpha1.EphemeralInfra{} },
		newList: func() runtime.Object { return &v1alpha1.EphemeralInfraList{} },
	}
	infraCollections = &kind{
		name: "InfraCollection", resource: "infracollections", singular: "infracollection", short: v1alpha1.ShortNameInfraCollection,
		new:      func() runtime.Object { return &v1alpha1.InfraCollection{} },
		newList:  func() runtime.Object { return &v1alpha1.InfraCollectionList{} },
		children: infras,
	}
	ephemeralInfraCollections = &kind{
		name: "EphemeralInfraCollection", resource: "ephemeralinfracollections", singular: "ephemeralinfracollection",
		short:    v1alpha1.ShortNameEphemeralInfraCollection,
		new:      func() runtime.Object { return &v1alpha1.EphemeralInfraCollection{} },
		newList:  func() runtime.Object { return &v1alpha1.EphemeralInfraCollectionList{} },
		children: ephemeralInfras,
	}
)

// target is an object that the command line names.
type target struct {
	kind *kind
	name string
}

// String is how kubectl prints an object.
func (t target) String() string { return t.kind.singular + "." + socialweb.GroupName + "/" + t.name }

// plain is how an error calls an object.
func (t target) plain() string { return t.kind.singular + " " + t.name }

// plural is how kubectl wait calls an object.
func (t target) plural() string { return t.kind.resource + "/" + t.name }

// target reads NAME or TYPE/NAME.
func (f *factory) target(arg string, allowed ...*kind) (target, error) {
	typ, name, found := strings.Cut(arg, "/")
	switch {
	case !found && f.ephemeral:
		return target{ephemeralInfras, arg}, nil
	case !found:
		return target{infras, arg}, nil
	case name == "" || strings.Contains(name, "/"):
		return target{}, fmt.Errorf("arguments in resource/name form must have a single resource and name: %q", arg)
	}
	var known []string
	for _, k := range allowed {
		if k.called(typ) {
			return target{k, name}, nil
		}
		known = append(known, k.singular)
	}
	return target{}, fmt.Errorf("%q is none of the resource types that this command takes: %s", typ, strings.Join(known, ", "))
}

// called tells whether a type on the command line means this kind: its names, in any
// case, with or without the group.
func (k *kind) called(typ string) bool {
	typ = strings.ToLower(typ)
	typ = strings.TrimSuffix(typ, "."+socialweb.GroupName)
	typ = strings.TrimSuffix(typ, "."+v1alpha1.SchemeGroupVersion.Version)
	return typ == k.resource || typ == k.singular || typ == k.short
}
