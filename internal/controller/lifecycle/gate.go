package lifecycle

import (
	"fmt"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// Verdict says whether the contracts of a deployment may be requested.
type Verdict struct {
	// Allowed to be requested.
	Allowed bool
	// Reason is one word, and Message a sentence, why they may not.
	Reason, Message string
}

// Collection is what counts of an InfraCollection or EphemeralInfraCollection.
type Collection struct {
	// Name of it.
	Name string
	// Repo is the AtprotoRepo whose records it serves; "": there is no such collection.
	Repo string
	// Execution of its spec.
	Execution v1alpha1.ExecutionPolicy
	// Granted of its status.
	Granted bool
}

// Gate judges the execution of a deployment. A record is written by its account,
// running it spends ours: what is bound runs where we write the repository too, or
// where somebody who may asked for it. Nil stands for what isn't there. A collection
// counts for what it serves: whoever may write a deployment can name any on it, and the
// grant for one account's records is none for another's. One that is named and isn't
// there may not have been seen yet, and may say ObserveOnly. An unbound deployment is
// its owner's here and runs. Whose workspace is gone has nobody who would want it to run.
func Gate(d *Deployment, w Workspace, repo *v1alpha1.AtprotoRepo, collection *Collection) Verdict {
	if d.forsaken(w) {
		return Verdict{Reason: v1alpha1.ReasonWorkspaceGone, Message: messageGone}
	}
	if d.Spec.Record == nil {
		return Verdict{Allowed: true}
	}
	if repo == nil {
		return Verdict{Reason: "RepoMissing", Message: fmt.Sprintf("there is no AtprotoRepo %s: nothing is known of who may run its records", d.Spec.Record.RepoRef.Name)}
	}
	if collection != nil && collection.Repo == "" {
		return Verdict{Reason: "CollectionMissing", Message: fmt.Sprintf("there is no collection %s, which its label %s names: it would say whether its records run", collection.Name, v1alpha1.LabelCollection)}
	}
	who, execution, granted := "AtprotoRepo "+repo.Name, repo.Spec.Execution, repo.Status.ExecuteGranted
	if collection != nil && collection.Repo == repo.Name && collection.Execution != "" {
		who, execution, granted = "the collection "+collection.Name, collection.Execution, collection.Granted
	}
	switch {
	case execution == v1alpha1.ExecutionObserveOnly:
		return Verdict{Reason: "ObserveOnly", Message: who + " has execution ObserveOnly"}
	case repo.Status.Access == v1alpha1.AccessReadWrite:
		return Verdict{Allowed: true}
	case execution == v1alpha1.ExecutionFollow && granted:
		return Verdict{Allowed: true}
	case execution == v1alpha1.ExecutionFollow:
		return Verdict{Reason: "NotGranted", Message: who + " has execution Follow, set by somebody without the verb execute"}
	}
	return Verdict{Reason: "NotWritable", Message: fmt.Sprintf("AtprotoRepo %s can't be written: its records run only with execution Follow, which takes the verb execute", repo.Name)}
}
