package execution

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// inWorkspace is a policy that names one account, and the accounts it was asked for.
func inWorkspace(named string, asked *[]string) Policy {
	return func(_ context.Context, did string) (bool, bool) {
		if did != "" {
			*asked = append(*asked, did)
		}
		return did == named, true
	}
}

// elsewhere is a policy where users are known; a grant of it counts for nothing.
func elsewhere(context.Context, string) (bool, bool) { return true, false }

const didA, didB = "did:web:a.example.com", "did:web:b.example.com"

func TestPolicyOfRepos(t *testing.T) {
	for name, c := range map[string]struct {
		policy Policy // nil: one that names didA
		user   string
		now    *socialweb.AtprotoRepo
		old    runtime.Object
		want   string // "granted", "" or what the refusal says
	}{
		"the account is named":              {nil, "nobody", aRepo(follow), nil, "granted"},
		"named, and writable":               {nil, "nobody", aRepo(follow, writableOne), nil, "granted"},
		"another account":                   {nil, "nobody", aRepo(follow, otherDID), nil, didB},
		"another account, writable":         {nil, "nobody", aRepo(follow, otherDID, writableOne), nil, ""},
		"another account, observed":         {nil, "nobody", aRepo(observe, otherDID), nil, ""},
		"a handle that isn't resolved":      {nil, "nobody", aRepo(follow, byHandle("")), nil, "isn't known yet"},
		"a handle that is, later":           {nil, "nobody", aRepo(follow, byHandle(didA)), aRepo(observe, byHandle(didA)), "granted"},
		"a handle of another account":       {nil, "nobody", aRepo(follow, byHandle(didB)), aRepo(observe, byHandle(didB)), didB},
		"changed to another account":        {nil, "nobody", aRepo(follow, otherDID, granted), aRepo(follow, granted), didB},
		"left as it was, not granted":       {nil, "nobody", aRepo(follow, labelled), aRepo(follow), ""},
		"the policy names nobody":           {inWorkspace("-", new([]string)), "nobody", aRepo(follow), nil, didA},
		"and an empty DID isn't an account": {inWorkspace("", new([]string)), "nobody", aRepo(follow, byHandle("")), nil, "isn't known yet"},
		"who has the verb":                  {inWorkspace("-", new([]string)), "may", aRepo(follow), nil, "granted"},
		"where users are known":             {elsewhere, "nobody", aRepo(follow), nil, `the verb "execute"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := ForRepos()
			g.Authorizer, g.Policy = &rules{}, c.policy
			if c.policy == nil {
				g.Policy = inWorkspace(didA, new([]string))
			}
			err := g.Admit(as(c.user), c.now, c.old)
			refused := c.want != "" && c.want != "granted"
			if (err != nil) != refused || c.now.Status.ExecuteGranted != (c.want == "granted") {
				t.Fatalf("granted %t: %v", c.now.Status.ExecuteGranted, err)
			}
			if !refused {
				return
			}
			if !apierrors.IsForbidden(err) {
				t.Errorf("%v is no 403", err)
			}
			for _, part := range []string{c.want, "ObserveOnly", "ReadWrite"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v lacks %s", err, part)
				}
			}
			if strings.Contains(err.Error(), PolicyFlag) != (name != "where users are known") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestPolicyOfCollections(t *testing.T) {
	broken := apierrors.NewServiceUnavailable("etcd is away")
	for name, c := range map[string]struct {
		repos getter
		want  string // "granted" or what the refusal says
		asked string
	}{
		"of an account that is named": {getter{repo: aRepo("")}, "granted", didA},
		"by its handle":               {getter{repo: aRepo("", byHandle(didA))}, "granted", didA},
		"of another":                  {getter{repo: aRepo("", otherDID)}, didB, didB},
		"of none yet":                 {getter{}, "isn't known yet", ""},
		"of a handle, unresolved":     {getter{repo: aRepo("", byHandle(""))}, "isn't known yet", ""},
		"that can't be read":          {getter{err: broken}, "etcd is away", ""},
	} {
		infra := &socialweb.InfraCollection{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: socialweb.InfraCollectionSpec{RepoRef: socialweb.RepoReference{Name: "main"}, Execution: follow}}
		ephemeral := &socialweb.EphemeralInfraCollection{ObjectMeta: infra.ObjectMeta, Spec: infra.Spec}
		for obj, g := range map[runtime.Object]Gate{infra: ForInfraCollections(c.repos), ephemeral: ForEphemeralInfraCollections(c.repos)} {
			var asked []string
			g.Authorizer, g.Policy = &rules{}, inWorkspace(didA, &asked)
			err := g.Admit(as("nobody"), obj, nil)
			if *g.Subject(obj).Granted != (c.want == "granted") || (err == nil) != (c.want == "granted") || strings.Join(asked, " ") != c.asked {
				t.Errorf("%s, %T: granted %t, asked for %v: %v", name, obj, *g.Subject(obj).Granted, asked, err)
			}
			if err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %T: %v lacks %s", name, obj, err, c.want)
			}
		}
	}
}

// A grant for the records of one account passes to another's where the policy names
// that one too.
func TestPolicyOfSuccessors(t *testing.T) {
	for name, c := range map[string]struct {
		repo *socialweb.AtprotoRepo
		want string // "": let in
	}{
		"named":        {aRepo(""), ""},
		"not named":    {aRepo("", otherDID), didB},
		"not resolved": {aRepo("", byHandle("")), "isn't known yet"},
	} {
		collection := socialweb.InfraCollection{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}
		collection.Spec.RepoRef.Name, collection.Spec.Execution, collection.Status.ExecuteGranted = "main", follow, true
		g := ForInfraCollections(nil)
		g.Authorizer, g.Policy = &rules{}, inWorkspace(didA, new([]string))
		s := &Successors{}
		s.Add(g, listed{items: []socialweb.InfraCollection{collection}})
		err := s.Admit(as("nobody"), c.repo, nil)
		if (err != nil) != (c.want != "") || err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), PolicyFlag) || !strings.Contains(err.Error(), "ObserveOnly")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
