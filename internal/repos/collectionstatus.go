package repos

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
	"socialweb.computer/infra-apiserver/pkg/generated/clientset/versioned"
)

// childrenBytes bounds the list of children, as JSON, below what the API takes.
const childrenBytes = 900_000

// readiness is what condition Ready of a collection says.
type readiness struct {
	verdict         verdict
	reason, message string
}

// coarse is without the words, which change all the time while a PDS fails.
func (r readiness) coarse() readiness { return readiness{r.verdict, r.reason, ""} }

// readinessOf says whether the records of a collection can be served, by what it is
// of; the members are another question.
func (m *Manager) readinessOf(c *collection) readiness {
	s := c.seat()
	if first := m.collections.holder(s); first != nil && first.UID != c.UID {
		return readiness{no, v1alpha1.ReasonAlreadyCollected, fmt.Sprintf("%s %q serves these records of AtprotoRepo %q: delete one of the two", c.kind.kind, first.Name, s.repo.name)}
	}
	repo := m.mirror.get(s.repo)
	if repo == nil {
		return readiness{no, v1alpha1.ReasonRepoNotFound, fmt.Sprintf("there is no AtprotoRepo %q: it is served once there is", s.repo.name)}
	}
	state, mounted := m.Hub.RepoState(s.repo.workspace, s.repo.name)
	notReady := func(v verdict, why string) readiness {
		return readiness{v, v1alpha1.ReasonRepoNotReady, fmt.Sprintf("AtprotoRepo %q %s", s.repo.name, why)}
	}
	switch {
	case repo.DeletionTimestamp != nil:
		return notReady(no, "is being deleted")
	case repo.Spec.Access == v1alpha1.AccessNone:
		return notReady(no, "is not read: its spec.access is None")
	case !mounted:
		return notReady(no, "is not served: see its conditions")
	case state.Err != nil:
		return notReady(no, "can't be read: "+state.Err.Error())
	case state.IngestedRev == "":
		return notReady(open, "is being read for the first time")
	}
	return readiness{yes, v1alpha1.ReasonServing, ""}
}

// observeCollection is the status that a collection should have now, and how it was
// found.
func (m *Manager) observeCollection(ctx context.Context, c *collection) (*v1alpha1.InfraCollectionStatus, collectionState, error) {
	found := collectionState{ready: m.readinessOf(c), workspace: m.presenceOf(c.key().workspace), read: m.Clock.Now()}
	st := c.Status.DeepCopy()
	st.ObservedGeneration = c.Generation
	conditions := conditions{list: &st.Conditions, generation: c.Generation, now: metav1.NewTime(m.Clock.Now())}
	conditions.workspaceBound(found.workspace)
	ready := found.ready
	if ready.reason == v1alpha1.ReasonAlreadyCollected {
		st.Items, st.Children = 0, nil
		meta.RemoveStatusCondition(&st.Conditions, v1alpha1.ConditionTruncated)
		conditions.set(v1alpha1.ConditionReady, ready.verdict, ready.reason, ready.message)
		return st, found, nil
	}
	ws, repo := c.seat().repo.workspace, c.seat().repo.name
	found.mark, _ = m.Hub.MembersMark(ws, repo, c.kind.nsid)
	members, ok, err := m.Hub.Members(ctx, ws, repo, c.kind.nsid)
	if err != nil {
		return nil, found, err
	}
	if ok {
		listed := setChildren(st, members)
		all := len(members.Items)
		switch {
		case ready.verdict == yes && !members.Compared:
			ready = readiness{open, v1alpha1.ReasonRepoNotReady, fmt.Sprintf("the records of AtprotoRepo %q are being read", repo)}
		case ready.verdict == yes && listed < all:
			ready.message = fmt.Sprintf("status.children lists the first %d of %d", listed, all)
		}
		if members.Beyond > 0 {
			reason, remedy := v1alpha1.ReasonMaxItems, "raise spec.maxItems, or remove others"
			if members.WorkspaceFull {
				reason, remedy = v1alpha1.ReasonWorkspaceFull, roomRemedy
			}
			conditions.set(v1alpha1.ConditionTruncated, yes, reason, fmt.Sprintf("%d more records are not served: %s", members.Beyond, remedy))
		} else if members.Compared {
			conditions.set(v1alpha1.ConditionTruncated, no, v1alpha1.ReasonAllServed, "")
		}
	}
	conditions.set(v1alpha1.ConditionReady, ready.verdict, ready.reason, ready.message)
	return st, found, nil
}

// setChildren sets items and children, and says how many it lists.
func setChildren(st *v1alpha1.InfraCollectionStatus, members repostore.Members) int {
	st.Items, st.Children = 0, nil
	size := 0
	for _, i := range members.Items {
		child := v1alpha1.CollectionChild{URI: i.URI}
		switch {
		case i.Conflict:
			child.Conflict = v1alpha1.NameConflict
		case i.Child:
			child.Name, child.CID = i.Name, i.CID
		default:
			child.BoundBy = i.Name
		}
		if !i.Conflict {
			st.Items++
		}
		if b, err := json.Marshal(child); err == nil {
			size += len(b) + 1
		}
		if size <= childrenBytes {
			st.Children = append(st.Children, child)
		}
	}
	return len(st.Children)
}

// writeCollectionStatus writes what is worth it: who is a member at once, what the
// members are and words once in a while.
func (m *Manager) writeCollectionStatus(ctx context.Context, client versioned.Interface, c *collection) (again time.Duration, err error) {
	status, found, err := m.observeCollection(ctx, c)
	if err != nil {
		return 0, err
	}
	last, _ := m.stateOf(c.key())
	found.wrote = last.wrote
	defer func() {
		if err == nil {
			m.keepState(c.key(), func(s *collectionState) { *s = found })
		}
	}()
	if equalStatus(&c.Status, status) {
		return 0, nil
	}
	if since := m.Clock.Since(last.wrote); since < revEvery && equalStatus(coarseCollection(&c.Status), coarseCollection(status)) {
		return revEvery - since, nil
	}
	changed := c.DeepCopy()
	changed.Status = *status
	if err := c.kind.api(client).updateStatus(ctx, changed); err != nil {
		return 0, err
	}
	found.wrote = m.Clock.Now()
	return 0, nil
}

func equalStatus(a, b *v1alpha1.InfraCollectionStatus) bool {
	return apiequality.Semantic.DeepEqual(a, b)
}

// coarseCollection is a status without what changes all the time.
func coarseCollection(s *v1alpha1.InfraCollectionStatus) *v1alpha1.InfraCollectionStatus {
	c := s.DeepCopy()
	for i := range c.Children {
		c.Children[i].CID = ""
	}
	for i := range c.Conditions {
		c.Conditions[i].Message = ""
	}
	return c
}
