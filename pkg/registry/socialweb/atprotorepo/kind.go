// Package atprotorepo describes the kind AtprotoRepo to the registry.
package atprotorepo

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/validation"
	"socialweb.computer/infra-apiserver/pkg/registry"
)

// Kind is AtprotoRepo. serverHasJetstream tells whether the server has a Jetstream
// for those that name none.
func Kind(serverHasJetstream bool) registry.Kind {
	return registry.Kind{
		Resource:   socialweb.Resource("atprotorepos"),
		Singular:   socialweb.Resource("atprotorepo"),
		ShortNames: []string{socialweb.ShortNameAtprotoRepo},
		Categories: []string{socialweb.CategorySocialweb},
		Version:    v1alpha1.SchemeGroupVersion,
		New:        func() runtime.Object { return &socialweb.AtprotoRepo{} },
		NewList:    func() runtime.Object { return &socialweb.AtprotoRepoList{} },
		Spec:       func(o runtime.Object) any { return &repo(o).Spec },
		SetSpec:    func(to, from runtime.Object) { repo(from).Spec.DeepCopyInto(&repo(to).Spec) },
		SetStatus: func(to, from runtime.Object) {
			repo(to).Status = socialweb.AtprotoRepoStatus{}
			if from != nil {
				repo(from).Status.DeepCopyInto(&repo(to).Status)
			}
		},
		KeepStatus: keepStatus,
		Validate: func(o runtime.Object) field.ErrorList {
			return append(validation.ValidateAtprotoRepoCreate(repo(o)), validation.ValidateEventSource(repo(o), nil, serverHasJetstream)...)
		},
		ValidateUpdate: func(o, old runtime.Object) field.ErrorList {
			return append(validation.ValidateAtprotoRepoUpdate(repo(o), repo(old)), validation.ValidateEventSource(repo(o), repo(old), serverHasJetstream)...)
		},
		ValidateStatusUpdate: func(o, old runtime.Object) field.ErrorList {
			return validation.ValidateAtprotoRepoStatusUpdate(repo(o), repo(old))
		},
		Warnings: func(o, _ runtime.Object) []string {
			return validation.AtprotoRepoWarnings(&repo(o).Spec)
		},
		Finalizers: []string{socialweb.FinalizerInUse},
		Columns:    columns,
	}
}

func repo(o runtime.Object) *socialweb.AtprotoRepo { return o.(*socialweb.AtprotoRepo) }

// keepStatus keeps what grants are about: a handle is resolved once, so that one that
// was given for an account isn't another's.
func keepStatus(to, from runtime.Object) {
	now, was := &repo(to).Status, &repo(from).Status
	now.ExecuteGranted = was.ExecuteGranted
	if repo(from).Spec.DID == "" && was.DID != "" {
		now.DID = was.DID
	}
}
