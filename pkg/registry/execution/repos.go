package execution

import (
	"cmp"
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// ForRepos is the gate of AtprotoRepos, without its authorizer.
func ForRepos() Gate {
	return Gate{
		Resource: socialweb.Resource("atprotorepos"),
		Subject: func(obj runtime.Object) Subject {
			r := obj.(*socialweb.AtprotoRepo)
			return Subject{Name: r.Name, Execution: r.Spec.Execution, Source: account(r), Granted: &r.Status.ExecuteGranted}
		},
		Account: func(_ context.Context, obj runtime.Object) (string, error) {
			return did(obj.(*socialweb.AtprotoRepo)), nil
		},
		Writable: func(_ context.Context, obj runtime.Object) (bool, error) {
			return writable(obj.(*socialweb.AtprotoRepo)), nil
		},
	}
}

// ForInfraCollections is the gate of InfraCollections, without its authorizer. repos
// reads AtprotoRepos of the context's workspace.
func ForInfraCollections(repos rest.Getter) Gate {
	return forCollections("infracollections", repos, func(obj runtime.Object) (string, *socialweb.InfraCollectionSpec, *socialweb.InfraCollectionStatus) {
		c := obj.(*socialweb.InfraCollection)
		return c.Name, &c.Spec, &c.Status
	})
}

// ForEphemeralInfraCollections is the gate of EphemeralInfraCollections, without its
// authorizer. repos reads AtprotoRepos of the context's workspace.
func ForEphemeralInfraCollections(repos rest.Getter) Gate {
	return forCollections("ephemeralinfracollections", repos, func(obj runtime.Object) (string, *socialweb.InfraCollectionSpec, *socialweb.InfraCollectionStatus) {
		c := obj.(*socialweb.EphemeralInfraCollection)
		return c.Name, &c.Spec, &c.Status
	})
}

func forCollections(resource string, repos rest.Getter, parts func(runtime.Object) (string, *socialweb.InfraCollectionSpec, *socialweb.InfraCollectionStatus)) Gate {
	// Nil: there is none yet, and who creates it later decides what it is.
	repoOf := func(ctx context.Context, obj runtime.Object) (*socialweb.AtprotoRepo, error) {
		_, spec, _ := parts(obj)
		repo, err := repos.Get(ctx, spec.RepoRef.Name, &metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, err // as it is: it is an API status
		}
		return repo.(*socialweb.AtprotoRepo), nil
	}
	return Gate{
		Resource: socialweb.Resource(resource),
		Subject: func(obj runtime.Object) Subject {
			name, spec, status := parts(obj)
			return Subject{Name: name, Execution: spec.Execution, Source: spec.RepoRef.Name, Granted: &status.ExecuteGranted}
		},
		Account: func(ctx context.Context, obj runtime.Object) (string, error) {
			repo, err := repoOf(ctx, obj)
			if repo == nil {
				return "", err
			}
			return did(repo), nil
		},
		Writable: func(ctx context.Context, obj runtime.Object) (bool, error) {
			repo, err := repoOf(ctx, obj)
			return repo != nil && writable(repo), err
		},
	}
}

// account is the one that the repository is of: a handle stands for it until it was
// resolved.
func account(r *socialweb.AtprotoRepo) string {
	return cmp.Or(did(r), r.Spec.Handle)
}

// did is the account's; "" where its handle wasn't resolved yet. It is so once.
func did(r *socialweb.AtprotoRepo) string { return cmp.Or(r.Spec.DID, r.Status.DID) }

// writable tells whether the spec asks for a repository that the server can write.
func writable(r *socialweb.AtprotoRepo) bool {
	return r.Spec.Access == socialweb.AccessReadWrite && r.Spec.CredentialsRef != nil
}
