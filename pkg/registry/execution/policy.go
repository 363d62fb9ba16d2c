package execution

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
)

// PolicyFlag names the flag that Policy comes from.
const PolicyFlag = "--kcp-execute-dids"

// Policy is the server's own: whether the records of the account may run on the word of
// whoever the context's request is of. asked is false where such users are known: there
// the verb alone counts.
type Policy func(ctx context.Context, did string) (may, asked bool)

// answer of the policy.
type answer struct {
	may, asked bool
	did        string // "": not known yet
}

// policy asks for the account of obj. An account that isn't known has no grant, whatever
// it turns out to be. Its error is an API status.
func (g Gate) policy(ctx context.Context, obj runtime.Object) (answer, error) {
	if g.Policy == nil {
		return answer{}, nil
	}
	if _, asked := g.Policy(ctx, ""); !asked {
		return answer{}, nil
	}
	did, err := g.Account(ctx, obj)
	if err != nil {
		return answer{}, err
	}
	return g.Policy.of(ctx, did), nil
}

// of asks for one account.
func (p Policy) of(ctx context.Context, did string) answer {
	if p == nil {
		return answer{}
	}
	may, asked := p(ctx, did)
	return answer{may && asked && did != "", asked, did}
}

// remedy says what is missing and begins the list of ways out.
func (a answer) remedy() string {
	if a.did == "" {
		return "in a workspace that takes a server that names the account in " + PolicyFlag + "; which account it is isn't known yet: have an AtprotoRepo with spec.did first"
	}
	return "in a workspace that takes a server that names the account " + a.did + " in " + PolicyFlag + ": have its operator do so"
}
