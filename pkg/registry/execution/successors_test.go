package execution

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// listed is a storage that has these collections.
type listed struct {
	rest.Lister
	items []socialweb.InfraCollection
}

func (l listed) List(context.Context, *internalversion.ListOptions) (runtime.Object, error) {
	return &socialweb.InfraCollectionList{Items: l.items}, nil
}

// A grant for the records of one account is not handed to another's by who may replace
// the AtprotoRepo, and may not execute.
func TestAdmitSuccessors(t *testing.T) {
	collection := func(repo string, granted bool) socialweb.InfraCollection {
		c := socialweb.InfraCollection{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}
		c.Spec.RepoRef.Name, c.Spec.Execution, c.Status.ExecuteGranted = repo, follow, granted
		return c
	}
	for name, c := range map[string]struct {
		user       string
		collection socialweb.InfraCollection
		old        runtime.Object
		refused    bool
	}{
		"who may not":                 {"nobody", collection("main", true), nil, true},
		"who may":                     {"may", collection("main", true), nil, false},
		"nothing was granted":         {"nobody", collection("main", false), nil, false},
		"for another repository":      {"nobody", collection("other", true), nil, false},
		"it is there, and is changed": {"nobody", collection("main", true), aRepo(""), false},
	} {
		r := &rules{}
		g := ForInfraCollections(nil)
		g.Authorizer = r
		s := &Successors{}
		s.Add(g, listed{items: []socialweb.InfraCollection{c.collection}})
		err := s.Admit(as(c.user), aRepo(""), c.old)
		if apierrors.IsForbidden(err) != c.refused || (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if c.refused && (!strings.Contains(err.Error(), `"theirs"`) || r.asked[0].GetName() != "theirs" || r.asked[0].GetVerb() != Verb) {
			t.Errorf("%s: %v, asked %+v", name, err, r.asked)
		}
	}
	g := ForInfraCollections(nil)
	g.Authorizer = &rules{}
	s := &Successors{}
	s.Add(g, listed{items: []socialweb.InfraCollection{collection("main", true)}})
	if err := s.Admit(as("broken"), aRepo(""), nil); !apierrors.IsInternalError(err) {
		t.Errorf("an authorizer that fails: %v", err)
	}
}
