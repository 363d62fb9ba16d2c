package repos

import (
	"errors"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"socialweb.computer/infra-apiserver/internal/repostore"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// revEvery is how often a status may be written that differs from what is there
// in revs, lag and words alone.
const revEvery = 10 * time.Second

// observe is the status that obj should have now.
func (m *Manager) observe(k key, r *repo, obj *v1alpha1.AtprotoRepo) *v1alpha1.AtprotoRepoStatus {
	state, mounted := m.Hub.RepoState(k.workspace, k.name)
	r.mu.Lock()
	defer r.mu.Unlock()
	st := obj.Status.DeepCopy()
	st.ObservedGeneration = obj.Generation
	st.Access = v1alpha1.RepoAccess(r.granted(&obj.Spec))
	if r.conn != nil {
		st.DID, st.PDS = r.conn.did, r.conn.pds
	}
	if r.handle != "" {
		st.Handle = r.handle
	}
	if mounted && state.Rev != "" {
		st.Rev, st.IngestedRev = state.Rev, state.IngestedRev
		st.LagSeconds = ptr.To(int64(0))
		if !state.CaughtUp && !state.Since.IsZero() {
			st.LagSeconds = ptr.To(max(0, int64(m.Clock.Since(state.Since)/time.Second)))
		}
	}
	write := obj.Spec.Access == v1alpha1.AccessReadWrite
	c := conditions{list: &st.Conditions, generation: obj.Generation, now: metav1.NewTime(m.Clock.Now())}
	c.workspaceBound(m.presenceOf(k.workspace))
	c.truncated(state, mounted)
	reachable := c.reachable(r, state, mounted && obj.Spec.Access != v1alpha1.AccessNone)
	c.streaming(r, state)
	authorized, swap := yes, yes
	if write {
		authorized, swap = c.authorized(r, obj), c.swap(r)
	} else {
		meta.RemoveStatusCondition(c.list, v1alpha1.ConditionAuthorized)
		meta.RemoveStatusCondition(c.list, v1alpha1.ConditionSwapSupported)
	}
	switch {
	case obj.Spec.Access == v1alpha1.AccessNone:
		c.set(v1alpha1.ConditionReady, no, "AccessWithdrawn", "spec.access is None")
	case r.connectErr != nil:
		c.set(v1alpha1.ConditionReady, no, "NotApplied", "the spec can't be applied: "+r.connectErr.Error())
	case reachable != yes:
		c.set(v1alpha1.ConditionReady, reachable, "NotReachable", "see condition Reachable")
	case authorized != yes:
		c.set(v1alpha1.ConditionReady, authorized, "NotAuthorized", "see condition Authorized")
	case swap != yes:
		c.set(v1alpha1.ConditionReady, swap, "SwapNotSupported", "see condition SwapSupported")
	default:
		c.set(v1alpha1.ConditionReady, yes, "Serving", otherHandle(&obj.Spec, st.Handle))
	}
	return st
}

// conditions of a status that is being made.
type conditions struct {
	list       *[]metav1.Condition
	generation int64
	now        metav1.Time
}

func (c conditions) set(kind string, v verdict, reason, message string) {
	meta.SetStatusCondition(c.list, metav1.Condition{
		Type: kind, Status: statusOf(v), Reason: reason, Message: message,
		ObservedGeneration: c.generation, LastTransitionTime: c.now,
	})
}

func (c conditions) reachable(r *repo, state repostore.RepoState, mounted bool) verdict {
	v, reason, message := yes, "Answering", ""
	switch {
	case r.conn == nil && r.connectErr != nil:
		v, reason = open, "NotConnected"
	case r.conn == nil && r.resolveErr != nil:
		v, reason, message = no, "NotResolved", r.resolveErr.Error()
	case !mounted:
		v, reason = open, "NotMounted"
	case state.Err != nil:
		v, reason, message = no, reasonOf(state.Err), state.Err.Error()
	case state.IngestedRev == "":
		v, reason = open, "Connecting"
	}
	c.set(v1alpha1.ConditionReachable, v, reason, message)
	return v
}

// streaming tells of the event source that is connected, which is not the one of
// the spec where that can't be had.
func (c conditions) streaming(r *repo, state repostore.RepoState) {
	var source *sourceError
	if errors.As(r.connectErr, &source) {
		c.set(v1alpha1.ConditionStreaming, no, "NotConfigured", source.Error())
		return
	}
	c.set(v1alpha1.ConditionStreaming, verdictIf(state.Streaming), map[bool]string{true: "Connected", false: "Disconnected"}[state.Streaming], "")
}

// roomRemedy is what helps where a workspace has no room.
const roomRemedy = "the workspace has as much as it may: delete what it doesn't need, or ask the operator of the server for more"

// truncated tells of records that have no object for want of room in the workspace. A
// repository that never had any doesn't say so.
func (c conditions) truncated(state repostore.RepoState, mounted bool) {
	switch {
	case !mounted:
		meta.RemoveStatusCondition(c.list, v1alpha1.ConditionTruncated)
	case state.Beyond > 0:
		c.set(v1alpha1.ConditionTruncated, yes, v1alpha1.ReasonWorkspaceFull, fmt.Sprintf("%d more records are not served: %s", state.Beyond, roomRemedy))
	case meta.FindStatusCondition(*c.list, v1alpha1.ConditionTruncated) != nil && state.IngestedRev != "":
		c.set(v1alpha1.ConditionTruncated, no, v1alpha1.ReasonAllServed, "")
	}
}

func (c conditions) authorized(r *repo, obj *v1alpha1.AtprotoRepo) verdict {
	v, reason, message := yes, "Accepted", ""
	switch {
	case obj.Spec.CredentialsRef == nil:
		v, reason, message = no, "NoCredentials", "spec.credentialsRef is empty: name the credentials, or set spec.access to Read"
	case r.authChecked.IsZero():
		v, reason = open, "NotAsked"
	case r.authorized != nil:
		v, reason, message = no, reasonOf(r.authorized), r.authorized.Error()
	}
	c.set(v1alpha1.ConditionAuthorized, v, reason, message)
	return v
}

func (c conditions) swap(r *repo) verdict {
	reason, message := map[verdict]string{yes: "Honoured", no: "Ignored", open: "NotProbed"}[r.swap], ""
	switch {
	case r.swap == no:
		message = "the PDS wrote a record whose swap was not met: it can be read only"
	case r.swapErr != nil:
		message = r.swapErr.Error()
	}
	c.set(v1alpha1.ConditionSwapSupported, r.swap, reason, message)
	return r.swap
}

// worthWriting keeps writes few: what users and controllers act on is written at
// once, revs, lag and words once in a while.
func (m *Manager) worthWriting(r *repo, old, now *v1alpha1.AtprotoRepoStatus) bool {
	if apiequality.Semantic.DeepEqual(old, now) {
		return false
	}
	if !apiequality.Semantic.DeepEqual(coarse(old), coarse(now)) {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return m.Clock.Since(r.wrote) >= revEvery
}

// coarse is a status without what changes all the time.
func coarse(s *v1alpha1.AtprotoRepoStatus) *v1alpha1.AtprotoRepoStatus {
	c := s.DeepCopy()
	c.Rev, c.IngestedRev, c.LagSeconds = "", "", nil
	for i := range c.Conditions {
		c.Conditions[i].Message = ""
	}
	return c
}

func statusOf(v verdict) metav1.ConditionStatus {
	switch v {
	case yes:
		return metav1.ConditionTrue
	case no:
		return metav1.ConditionFalse
	default:
		return metav1.ConditionUnknown
	}
}

func verdictOf(list []metav1.Condition, kind string) verdict {
	switch {
	case meta.IsStatusConditionTrue(list, kind):
		return yes
	case meta.IsStatusConditionFalse(list, kind):
		return no
	default:
		return open
	}
}

func verdictIf(b bool) verdict {
	if b {
		return yes
	}
	return no
}
