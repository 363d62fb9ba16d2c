package execution

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

const follow, observe = socialweb.ExecutionFollow, socialweb.ExecutionObserveOnly

// rules allow the verb execute to the user "may", and break for "broken".
type rules struct {
	authorizer.Authorizer
	asked []authorizer.Attributes
}

func (r *rules) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	r.asked = append(r.asked, a)
	switch a.GetUser().GetName() {
	case "may":
		return authorizer.DecisionAllow, "", nil
	case "broken":
		return authorizer.DecisionNoOpinion, "", errors.New("no answer")
	}
	return authorizer.DecisionNoOpinion, "no rule", nil
}

func as(name string) context.Context {
	return request.WithUser(context.Background(), &user.DefaultInfo{Name: name})
}

// aRepo is the one that asks for execution; change, if any, changes it.
func aRepo(e socialweb.ExecutionPolicy, change ...func(*socialweb.AtprotoRepo)) *socialweb.AtprotoRepo {
	r := &socialweb.AtprotoRepo{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: socialweb.AtprotoRepoSpec{
		DID: "did:web:a.example.com", Access: socialweb.AccessRead, Execution: e,
	}}
	for _, f := range change {
		f(r)
	}
	return r
}

func granted(r *socialweb.AtprotoRepo)            { r.Status.ExecuteGranted = true }
func withoutCredentials(r *socialweb.AtprotoRepo) { r.Spec.Access = socialweb.AccessReadWrite }
func writableOne(r *socialweb.AtprotoRepo) {
	r.Spec.Access, r.Spec.CredentialsRef = socialweb.AccessReadWrite, &socialweb.CredentialsReference{Name: "x"}
}
func otherDID(r *socialweb.AtprotoRepo) { r.Spec.DID = "did:web:b.example.com" }
func labelled(r *socialweb.AtprotoRepo) { r.Labels = map[string]string{"a": "b"} }
func byHandle(did string) func(*socialweb.AtprotoRepo) {
	return func(r *socialweb.AtprotoRepo) {
		r.Spec.Handle, r.Spec.DID, r.Status.DID = "a.example.com", "", did
	}
}

func TestAdmitRepos(t *testing.T) {
	const refused = "refused"
	for name, c := range map[string]struct {
		user     string
		now, old *socialweb.AtprotoRepo
		want     string // "granted", "" or refused
		asked    bool
	}{
		"created by who may":                   {"may", aRepo(follow), nil, "granted", true},
		"created by who may not":               {"nobody", aRepo(follow), nil, refused, true},
		"created without a word":               {"nobody", aRepo(""), nil, "", false},
		"created to observe":                   {"nobody", aRepo(observe), nil, "", false},
		"writable, who may not":                {"nobody", aRepo(follow, writableOne), nil, "", true},
		"writable, who may":                    {"may", aRepo(follow, writableOne), nil, "granted", true},
		"ReadWrite without credentials":        {"nobody", aRepo(follow, withoutCredentials), nil, refused, true},
		"left as it was, granted":              {"nobody", aRepo(follow, labelled, granted), aRepo(follow, granted), "granted", false},
		"left as it was, not granted":          {"may", aRepo(follow, labelled), aRepo(follow), "", false},
		"no longer writable":                   {"nobody", aRepo(follow), aRepo(follow, writableOne), "", false},
		"changed to follow by who may":         {"may", aRepo(follow), aRepo(observe), "granted", true},
		"changed to follow by who may not":     {"nobody", aRepo(follow), aRepo(""), refused, true},
		"changed away":                         {"nobody", aRepo(observe, granted), aRepo(follow, granted), "", false},
		"word removed":                         {"nobody", aRepo("", granted), aRepo(follow, granted), "", false},
		"another account, who may not":         {"nobody", aRepo(follow, otherDID, granted), aRepo(follow, granted), refused, true},
		"another account, writable":            {"nobody", aRepo(follow, otherDID, writableOne, granted), aRepo(follow, granted), "", true},
		"a handle's own DID written down":      {"nobody", aRepo(follow, func(r *socialweb.AtprotoRepo) { r.Status.DID = r.Spec.DID }, granted), aRepo(follow, byHandle("did:web:a.example.com"), granted), "granted", false},
		"a handle's DID, before it's resolved": {"nobody", aRepo(follow, granted), aRepo(follow, byHandle(""), granted), refused, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, g := &rules{}, ForRepos()
			g.Authorizer = r
			var old runtime.Object
			if c.old != nil {
				old = c.old
			}
			err := g.Admit(as(c.user), c.now, old)
			if (err != nil) != (c.want == refused) || c.now.Status.ExecuteGranted != (c.want == "granted") || (len(r.asked) > 0) != c.asked {
				t.Fatalf("granted %t, asked %d times: %v", c.now.Status.ExecuteGranted, len(r.asked), err)
			}
			if err == nil {
				return
			}
			if !apierrors.IsForbidden(err) {
				t.Errorf("%v is no 403", err)
			}
			for _, part := range []string{`"execute"`, "atprotorepos.socialweb.computer", `"main"`, "no rule", "ObserveOnly"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v lacks %s", err, part)
				}
			}
		})
	}
}

// What is asked for is the verb on this very object.
func TestAttributes(t *testing.T) {
	r, g := &rules{}, ForRepos()
	g.Authorizer = r
	if err := g.Admit(as("may"), aRepo(follow), nil); err != nil || len(r.asked) != 1 {
		t.Fatalf("asked %d times: %v", len(r.asked), err)
	}
	a := r.asked[0]
	if a.GetVerb() != "execute" || a.GetResource() != "atprotorepos" || a.GetAPIGroup() != socialweb.GroupName ||
		a.GetName() != "main" || !a.IsResourceRequest() || a.GetSubresource() != "" || a.GetUser().GetName() != "may" {
		t.Errorf("asked for %+v", a)
	}
}

// Where nobody can say, nothing is granted; and nobody is no user.
func TestNoAnswer(t *testing.T) {
	g := ForRepos()
	g.Authorizer = &rules{}
	obj := aRepo(follow)
	if err := g.Admit(as("broken"), obj, nil); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "no answer") || obj.Status.ExecuteGranted {
		t.Errorf("granted %t: %v", obj.Status.ExecuteGranted, err)
	}
	if err := g.Admit(context.Background(), obj, nil); !apierrors.IsForbidden(err) || obj.Status.ExecuteGranted {
		t.Errorf("without a user: granted %t: %v", obj.Status.ExecuteGranted, err)
	}
}

// getter has one AtprotoRepo, or an error.
type getter struct {
	repo *socialweb.AtprotoRepo
	err  error
}

var _ rest.Getter = getter{}

func (g getter) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	switch {
	case g.err != nil:
		return nil, g.err
	case g.repo == nil:
		return nil, apierrors.NewNotFound(socialweb.Resource("atprotorepos"), name)
	}
	return g.repo, nil
}

func TestAdmitCollections(t *testing.T) {
	broken := apierrors.NewServiceUnavailable("etcd is away")
	for name, c := range map[string]struct {
		user    string
		repos   getter
		refused bool
		granted bool
	}{
		"of a writable one":       {"nobody", getter{repo: aRepo("", writableOne)}, false, false},
		"of one to read":          {"nobody", getter{repo: aRepo("")}, true, false},
		"of none":                 {"nobody", getter{}, true, false},
		"of one that isn't known": {"nobody", getter{err: broken}, true, false},
		"by who may":              {"may", getter{err: broken}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			infra := &socialweb.InfraCollection{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: socialweb.InfraCollectionSpec{RepoRef: socialweb.RepoReference{Name: "main"}, Execution: follow}}
			ephemeral := &socialweb.EphemeralInfraCollection{ObjectMeta: infra.ObjectMeta, Spec: infra.Spec}
			for obj, g := range map[runtime.Object]Gate{infra: ForInfraCollections(c.repos), ephemeral: ForEphemeralInfraCollections(c.repos)} {
				r := &rules{}
				g.Authorizer = r
				if err := g.Admit(as(c.user), obj, nil); (err != nil) != c.refused || *g.Subject(obj).Granted != c.granted {
					t.Errorf("%T: granted %t: %v", obj, *g.Subject(obj).Granted, err)
				}
				if a := r.asked[0]; a.GetResource() != g.Resource.Resource || a.GetName() != "c" {
					t.Errorf("%T: asked for %+v", obj, a)
				}
				if err := g.Admit(as("nobody"), obj, obj.DeepCopyObject()); err != nil {
					t.Errorf("%T left as it was: %v", obj, err)
				}
			}
		})
	}
}
